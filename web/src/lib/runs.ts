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
