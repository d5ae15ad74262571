import { describe, expect, it } from 'vitest'
import type { TaskView } from './api-types'
import { countsOf, draftBy, matchesOf, requestOf, takes, targetValue, toggled } from './sprint-form'

const ALL = {
  include_operations: [],
  exclude_operations: [],
  include_tags: [],
  exclude_tags: [],
}

function task(id: string, more: Partial<TaskView> = {}): TaskView {
  return {
    id,
    status: 'pending',
    operation: '',
    tags: [],
    ready: true,
    waits_for: [],
    held: false,
    assigned: false,
    pin: 0,
    score: 0,
    priority: 0,
    ...more,
  } as unknown as TaskView
}

describe('the tasks of a sprint', () => {
  it('S1: are filtered by operation and tag, in and out', () => {
    const pay = task('T1', { operation: 'Pay', tags: ['api'] })
    expect(takes(ALL, pay)).toBe(true)
    expect(takes({ ...ALL, include_operations: ['Pay'] }, pay)).toBe(true)
    expect(takes({ ...ALL, include_operations: ['Web'] }, pay)).toBe(false)
    expect(takes({ ...ALL, include_tags: ['web', 'api'] }, pay)).toBe(true)
    expect(takes({ ...ALL, exclude_tags: ['api'] }, pay)).toBe(false)
    expect(takes({ ...ALL, exclude_operations: ['Pay'] }, pay)).toBe(false)
  })

  it('are listed in the order in which they start', () => {
    const tasks = [
      task('T1'),
      task('T2', { score: 50 }),
      task('T3', { pin: 1 }),
      task('T4', { ready: false, waits_for: ['T1'] }),
      task('T5', { ready: false, held: true }),
      task('T6', { status: 'done', ready: false }),
    ]
    const found = matchesOf(tasks, ALL)
    expect(found.ready.map(({ id }) => id)).toEqual(['T3', 'T2', 'T1'])
    expect(found.waiting.map(({ id }) => id)).toEqual(['T4'])
    expect([found.pending, found.held]).toEqual([5, 1])
  })

  it('are counted by tag, the most first', () => {
    const tasks = [task('T1', { tags: ['a', 'b'] }), task('T2', { tags: ['b'] })]
    expect(countsOf(tasks, ({ tags }) => tags)).toEqual([
      { name: 'b', count: 2 },
      { name: 'a', count: 1 },
    ])
  })
})

describe('a draft', () => {
  const draft = draftBy({
    settings: [
      { key: 'sprint.target.type', value: 'count' },
      { key: 'sprint.target.value', value: 5 },
      { key: 'sprint.pause_on_error', value: true },
      { key: 'sprint.filters.exclude_tags', value: ['later'] },
    ],
  } as never)

  it('S1: begins with the settings', () => {
    expect(requestOf(draft)).toEqual({
      kind: 'sprint',
      target: { type: 'count', value: 5 },
      filters: { ...ALL, exclude_tags: ['later'] },
      checkpoint_before: true,
      pause_on_error: true,
      pause_on_stuck: false,
    })
  })

  it('sends only what was filled in', () => {
    const more = { ...draft, budget: ' 2.5 ', slots: '3', agent: 'a', batchReview: false }
    expect(requestOf(more)).toMatchObject({
      budget_usd: 2.5,
      parallel: 3,
      agent: 'a',
      batch_review: false,
    })
  })

  it('S6: is not sent with a target that is none', () => {
    for (const value of ['0', '-1', '1.5', 'x', '']) {
      expect(targetValue({ type: 'count', value })).toBeUndefined()
    }
    expect(targetValue({ type: 'duration', value: '0' })).toBeUndefined()
    expect(targetValue({ type: 'until_time', value: ' ' })).toBeUndefined()
    expect(targetValue({ type: 'no_ready', value: 'x' })).toBeNull()
    expect(requestOf({ ...draft, value: '0' })).toBeUndefined()
  })

  it('takes names in and out', () => {
    expect(toggled(['a'], 'b')).toEqual(['a', 'b'])
    expect(toggled(['a', 'b'], 'a')).toEqual(['b'])
  })
})
