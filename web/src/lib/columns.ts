// The board's columns: which tasks are in which, in what order, and which a filter leaves.

import type { TaskView } from './wire'

export interface Column {
  name: string
  title: string
  statuses: readonly string[]
  /** What stands there while it has no cards. */
  empty: string
  /** … and what a mouse can do about it. */
  offer?: string
  /** People can order it: what is merging has its turn, and what is over has none. */
  isOrdered?: boolean
}

export const COLUMNS: readonly Column[] = [
  {
    name: 'todo',
    title: 'To do',
    statuses: ['pending'],
    empty: 'Nothing left to do',
    isOrdered: true,
  },
  {
    name: 'running',
    title: 'Running',
    statuses: ['active'],
    empty: 'Nothing runs',
    offer: 'Drop a task here to start it',
    isOrdered: true,
  },
  {
    name: 'attention',
    title: 'Needs you',
    statuses: ['waiting', 'blocked', 'failed', 'timeout'],
    empty: 'Nobody waits for you',
    isOrdered: true,
  },
  {
    name: 'review',
    title: 'Review',
    statuses: ['review'],
    empty: 'Nothing to review',
    isOrdered: true,
  },
  { name: 'merging', title: 'Merging', statuses: ['merging'], empty: 'No merge under way' },
  {
    name: 'done',
    title: 'Done',
    statuses: ['done', 'skipped', 'cancelled'],
    empty: 'Nothing done yet',
  },
]

export interface Filter {
  text?: string
  tag?: string
  agent?: string
  operation?: string
}

export function columnOf(status: string): Column {
  return COLUMNS.find(({ statuses }) => statuses.includes(status)) ?? COLUMNS[0]!
}

/** Where a task stands: one that waits for a free slot has begun, but nobody works on it. */
export function standingOf({ status }: TaskView, runStatus: string | undefined): string {
  return status === 'active' && runStatus === 'queued' ? 'queued' : status
}

export function matches(task: TaskView, filter: Filter): boolean {
  if (filter.tag && !task.tags.includes(filter.tag)) return false
  if (filter.agent && task.agent !== filter.agent) return false
  if (filter.operation && task.operation !== filter.operation) return false
  if (!filter.text) return true
  const words = `${task.id} ${task.title} ${task.body}`.toLowerCase()
  return filter.text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => words.includes(word))
}

/** Every column with its cards, the ones to look at first on top. */
export function arranged(tasks: readonly TaskView[], filter: Filter): TaskView[][] {
  const rows: TaskView[][] = COLUMNS.map(() => [])
  for (const task of tasks) {
    if (matches(task, filter)) rows[COLUMNS.indexOf(columnOf(task.status))]!.push(task)
  }
  rows[0]!.sort(asStarted)
  for (const row of rows.slice(1)) row.sort((a, b) => pin(b) - pin(a) || latest(b) - latest(a))
  return rows
}

/** As the loop picks them: what a person wants, the order people gave, then what is ready. */
function asStarted(a: TaskView, b: TaskView): number {
  return (
    Number(!!b.assigned) - Number(!!a.assigned) ||
    pin(b) - pin(a) ||
    Number(!!b.ready) - Number(!!a.ready) ||
    (b.score ?? 0) - (a.score ?? 0) ||
    b.priority - a.priority
  )
}

function pin(task: TaskView): number {
  return task.pin ?? 0
}

/**
 * A card put before the one that is `at` this place: the cards that must be named for it, from the
 * top down to it. Nothing where it stays where it is.
 */
export function orderWith(
  row: readonly TaskView[],
  moved: string,
  at: number,
): string[] | undefined {
  const from = row.findIndex(({ id }) => id === moved)
  if (from < 0 || at === from || at === from + 1) return undefined
  const ids = row.map(({ id }) => id).filter((id) => id !== moved)
  const to = Math.min(Math.max(at > from ? at - 1 : at, 0), ids.length)
  return to === from ? undefined : [...ids.slice(0, to), moved]
}

/** When its latest attempt began. */
export function latest(task: TaskView): number {
  const attempt = task.attempts?.at(-1)
  return attempt ? Date.parse(attempt.ended_at ?? attempt.began_at) : 0
}

/** Every value that a filter could name, in alphabetical order. */
export function choices(
  tasks: readonly TaskView[],
  of: (task: TaskView) => readonly string[],
): string[] {
  return [...new Set(tasks.flatMap(of))].filter(Boolean).sort()
}
