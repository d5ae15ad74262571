// Runs: how they are filtered and sorted, and which task or thread the name of a run stands for.

import type { RunView } from './api-types'

/** The run of the board; there is one. */
export const BOARD = 'board'

const ROOM = 'room:'

/** The run of a room's thread. */
export function roomRun(thread: string): string {
  return ROOM + thread
}

export function threadOf(roomRun: string): string {
  return roomRun.startsWith(ROOM) ? roomRun.slice(ROOM.length) : roomRun
}

export interface RunFilter {
  text: string
  kind: string
  status: string
}

/** All runs of the lists, each once: of the same run the last counts. */
export function newestFirst(...lists: readonly RunView[][]): RunView[] {
  const known = new Map(lists.flat().map((run) => [run.id, run]))
  return [...known.values()].toSorted((a, b) => b.opened_at.localeCompare(a.opened_at))
}

export function matches(run: RunView, { text, kind, status }: RunFilter): boolean {
  const words = `${run.id} ${run.title} ${run.reason}`.toLowerCase()
  return (
    (!kind || run.kind === kind) &&
    (!status || statusOf(run) === status) &&
    text
      .toLowerCase()
      .split(/\s+/)
      .every((word) => words.includes(word))
  )
}

/** The outcome of a run that has ended, else its status. */
export function statusOf(run: RunView): string {
  return run.outcome ?? run.status
}

const RESTING = ['idle', 'paused', 'frozen', 'stopped', 'interrupted']

/** Whether a run works, or may go on by itself. */
export function isActive(run: RunView): boolean {
  return run.driven && run.outcome === null && !RESTING.includes(run.status)
}

/** The values there are, each once, sorted. */
export function choices(runs: readonly RunView[], of: (run: RunView) => string): string[] {
  return [...new Set(runs.map(of))].toSorted()
}

/** "3 of 41"; while older runs were not fetched: "3 of the latest 41". */
export function countLabel(found: number, known: number, isAll: boolean): string {
  return isAll ? `${found} of ${known}` : `${found} of the latest ${known}`
}

/** The task that an attempt or a merge belongs to: `T3` for `board/T3.1`; `''` for other runs. */
export function taskOfRun(run: string): string {
  return /^board\/(.+)\.[^.]+$/.exec(run)?.[1] ?? ''
}

/** The task that a log line of the board is about, and the line without its name. */
export function taskInLine(text: string): { task: string; rest: string } | undefined {
  const found = /(?:^|\s)(?:board\/)?(\S+)\.(?:\d+|merge\d+|revert\d+)(?=\s|$)/.exec(text)
  if (!found) return undefined
  const rest = text.slice(0, found.index) + text.slice(found.index + found[0].length)
  return { task: found[1]!, rest: rest.trim() }
}
