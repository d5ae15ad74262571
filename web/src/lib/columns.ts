// The board's columns: which tasks are in which, in what order, and which a filter leaves.

import type { TaskView } from './wire'

export interface Column {
  name: string
  title: string
  statuses: readonly string[]
  /** What stands there while it has no cards. */
  empty: string
}

export const COLUMNS: readonly Column[] = [
  { name: 'todo', title: 'To do', statuses: ['pending'], empty: 'Nothing left to do' },
  {
    name: 'running',
    title: 'Running',
    statuses: ['active'],
    empty: 'Drop a task here to start it',
  },
  {
    name: 'attention',
    title: 'Needs you',
    statuses: ['waiting', 'blocked', 'failed', 'timeout'],
    empty: 'Nobody waits for you',
  },
  { name: 'review', title: 'Review', statuses: ['review'], empty: 'Nothing to review' },
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
  rows[0]!.sort((a, b) => rank(b) - rank(a) || b.priority - a.priority)
  for (const row of rows.slice(1)) row.sort((a, b) => latest(b) - latest(a))
  return rows
}

function rank(task: TaskView): number {
  return (task.pinned ? 2 : 0) + (task.ready ? 1 : 0)
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
