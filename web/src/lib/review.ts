// The review queue: its groups, and the words for findings and decisions.

import type { Evidence, QueuedReview, TaskView } from './api-types'
import { oneLine } from './one-line'

type Severity = NonNullable<QueuedReview['severity']>

export const SEVERITIES: Readonly<Record<Severity, { mark: string; word: string }>> = {
  serious: { mark: '✗', word: 'Serious' },
  look: { mark: '!', word: 'Look' },
  note: { mark: '·', word: 'Note' },
}

export interface QueueGroup {
  title: string
  mark: string
  tone: 'bad' | 'attention' | 'good'
  rows: QueuedReview[]
}

/** The rows in groups: serious findings, others, none. The server has sorted them. */
export function queueGroups(rows: readonly QueuedReview[]): QueueGroup[] {
  const groups: QueueGroup[] = [
    { title: 'Serious finding', mark: '✗', tone: 'bad', rows: [] },
    { title: 'To look at', mark: '!', tone: 'attention', rows: [] },
    { title: 'Nothing found', mark: '✓', tone: 'good', rows: [] },
  ]
  for (const row of rows)
    groups[!row.severity ? 2 : row.severity === 'serious' ? 0 : 1]!.rows.push(row)
  return groups.filter((group) => group.rows.length)
}

/** The row at a distance from the chosen one; the first row if that is not there. */
export function rowBeside(
  rows: readonly QueuedReview[],
  id: string,
  by: number,
): QueuedReview | undefined {
  const at = rows.findIndex((row) => row.id === id)
  return rows[Math.max(0, Math.min(rows.length - 1, at + by))]
}

/** Those that can be approved together: nothing was found in them, and their mode allows it. */
export function batchOf(rows: readonly QueuedReview[]): QueuedReview[] {
  return rows.filter((row) => row.can_batch)
}

const MOST_DECIDED = 20

/** Tasks that a person has decided about, the latest first. */
export function decided(tasks: readonly TaskView[], sentBack: boolean): TaskView[] {
  return tasks
    .filter(
      (task) =>
        task.status !== 'review' &&
        task.review_decision &&
        (task.review_decision === 'redo') === sentBack,
    )
    .toSorted((a, b) => (b.decided_at ?? '').localeCompare(a.decided_at ?? ''))
    .slice(0, MOST_DECIDED)
}

/** What a person confirms with the second key. */
export function confirmation({ findings, to_confirm }: Evidence): string {
  const serious = findings.filter(({ severity }) => severity === 'serious')
  const [first] = serious
  const what = first ? oneLine(first.file ? `${first.text}: ${first.file}` : first.text) : ''
  return what || oneLine(to_confirm)
}
