import { describe, expect, it } from 'vitest'
import { batchOf, confirmation, decided, queueGroups, rowBeside } from './review'
import type { Evidence, QueuedReview, TaskView } from './api-types'

const row = (id: string, severity: QueuedReview['severity'], can_batch = false) =>
  ({ id, severity, can_batch }) as QueuedReview

const ROWS = [row('S', 'serious'), row('L', 'look'), row('N', 'note'), row('C', null, true)]

describe('the review queue', () => {
  it('S4: has a group for serious findings, for others, and for none', () => {
    expect(queueGroups(ROWS).map(({ title, rows }) => [title, rows.map(({ id }) => id)])).toEqual([
      ['Serious finding', ['S']],
      ['To look at', ['L', 'N']],
      ['Nothing found', ['C']],
    ])
    expect(queueGroups([row('C', null)])).toHaveLength(1)
  })

  it('goes from row to row and stays at its ends', () => {
    expect(rowBeside(ROWS, 'S', 1)?.id).toBe('L')
    expect(rowBeside(ROWS, 'S', -1)?.id).toBe('S')
    expect(rowBeside(ROWS, 'C', 1)?.id).toBe('C')
    expect(rowBeside(ROWS, 'gone', 1)?.id).toBe('S')
    expect(rowBeside([], '', 1)).toBeUndefined()
  })

  it('B21: takes only those together that the server allows', () => {
    expect(batchOf(ROWS).map(({ id }) => id)).toEqual(['C'])
  })

  it('S4: lists what was sent back and what was decided, the latest first', () => {
    const task = (id: string, review_decision: string, status: string, decided_at: string) =>
      ({ id, review_decision, status, decided_at }) as TaskView
    const tasks = [
      task('old', 'approved', 'done', '2026-01-01'),
      task('new', 'rejected', 'cancelled', '2026-01-02'),
      task('back', 'redo', 'active', '2026-01-01'),
      task('again', 'redo', 'review', '2026-01-01'),
      task('none', '', 'review', ''),
    ]

    expect(decided(tasks, false).map(({ id }) => id)).toEqual(['new', 'old'])
    expect(decided(tasks, true).map(({ id }) => id)).toEqual(['back'])
  })

  it('S4: names what the second key confirms', () => {
    const found = { severity: 'serious', text: 'Test deleted', file: 'tests/a.py' }
    const evidence = { findings: [found], to_confirm: 'deleted test' } as unknown as Evidence

    expect(confirmation(evidence)).toBe('Test deleted: tests/a.py')
    expect(confirmation({ ...evidence, findings: [] })).toBe('deleted test')
  })
})
