// The board's columns: their tasks, the order of the tasks, and the filter.

import type { TaskView } from './api-types'

export interface Column {
  name: string
  title: string
  statuses: readonly string[]
  /** The text while it has no cards. */
  empty: string
  /** The same for people with a mouse: what they can drop here. */
  offer?: string
  /** Whether people can order its cards. */
  isOrdered?: boolean
  /** The page that says more about its tasks. */
  details?: { page: string; title: string }
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
    empty: 'Nothing is running',
    offer: 'Drop a task here to start it',
    isOrdered: true,
  },
  {
    name: 'attention',
    title: 'Needs you',
    statuses: ['waiting', 'blocked', 'failed', 'timeout'],
    empty: 'Nothing needs you',
    isOrdered: true,
  },
  {
    name: 'review',
    title: 'Review',
    statuses: ['review'],
    empty: 'Nothing to review',
    isOrdered: true,
  },
  {
    name: 'merging',
    title: 'Merging',
    statuses: ['merging'],
    empty: 'Nothing is merging',
    details: { page: 'queue', title: 'Queue' },
  },
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

/** The status to show: an active task whose run waits for a free slot is queued. */
export function shownStatus({ status }: TaskView, runStatus: string | undefined): string {
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

/** The cards of every column, in order. */
export function arranged(tasks: readonly TaskView[], filter: Filter): TaskView[][] {
  const rows: TaskView[][] = COLUMNS.map(() => [])
  for (const task of tasks) {
    if (matches(task, filter)) rows[COLUMNS.indexOf(columnOf(task.status))]!.push(task)
  }
  rows[0]!.sort(byStartOrder)
  for (const row of rows.slice(1)) row.sort((a, b) => pin(b) - pin(a) || latest(b) - latest(a))
  return rows
}

/** The order in which the board starts tasks. */
function byStartOrder(a: TaskView, b: TaskView): number {
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
 * The order to send when a card is put before the one at index `at`: the ids from the top down to
 * the moved one. Undefined if it stays where it is.
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

/** When its latest attempt ended, or began if it has not ended. */
export function latest(task: TaskView): number {
  const attempt = task.attempts?.at(-1)
  return attempt ? Date.parse(attempt.ended_at ?? attempt.began_at) : 0
}

/** Every value that a filter can have, sorted. */
export function choices(
  tasks: readonly TaskView[],
  of: (task: TaskView) => readonly string[],
): string[] {
  return [...new Set(tasks.flatMap(of))].filter(Boolean).sort()
}
