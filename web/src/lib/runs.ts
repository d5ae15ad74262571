// Which runs are looked for.

import type { RunView } from './wire'

export interface Wanted {
  text: string
  kind: string
  status: string
}

export function newestFirst(...lists: readonly RunView[][]): RunView[] {
  const known = new Map(lists.flat().map((run) => [run.id, run]))
  return [...known.values()].toSorted((a, b) => b.opened_at.localeCompare(a.opened_at))
}

export function fits(run: RunView, { text, kind, status }: Wanted): boolean {
  const words = `${run.id} ${run.title} ${run.reason}`.toLowerCase()
  return (
    (!kind || run.kind === kind) &&
    (!status || standing(run) === status) &&
    text
      .toLowerCase()
      .split(/\s+/)
      .every((word) => words.includes(word))
  )
}

/** How it ended; of one that has not, where it stands. */
export function standing(run: RunView): string {
  return run.outcome ?? run.status
}

/** The values there are, each once, in order. */
export function choices(runs: readonly RunView[], of: (run: RunView) => string): string[] {
  return [...new Set(runs.map(of))].toSorted()
}

/** How many were found; as long as older ones were not looked at, among which. */
export function outOf(found: number, known: number, isAll: boolean): string {
  return isAll ? `${found} of ${known}` : `${found} of the latest ${known}`
}

/** The task whose attempt, or whose merge, a run is: `T3` of `board/T3.1`; `''` of others. */
export function taskIn(run: string): string {
  return /^board\/(.+)\.[^.]+$/.exec(run)?.[1] ?? ''
}

/** A line of the board about one of its tasks: the task, and the line without its name. */
export function aboutTask(text: string): { task: string; rest: string } | undefined {
  const found = /(?:^|\s)(?:board\/)?(\S+)\.(?:\d+|merge\d+|revert\d+)(?=\s|$)/.exec(text)
  if (!found) return undefined
  const rest = text.slice(0, found.index) + text.slice(found.index + found[0].length)
  return { task: found[1]!, rest: rest.trim() }
}
