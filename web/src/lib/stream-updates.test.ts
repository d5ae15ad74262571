import { expect, test } from 'vitest'
import { collectUpdates } from './stream-updates'

const message = (kind: string, value: object) => ({ kind, data: JSON.stringify(value), id: '' })

test('the last value counts, and all lines are kept', () => {
  const updates = collectUpdates([
    message('task', { id: 't1', status: 'pending' }),
    message('log', { run: 'board', seq: 1 }),
    message('task', { id: 't1', status: 'active' }),
    message('log', { run: 'board', seq: 2 }),
    message('room', { thread: 'general', text: 'hello' }),
    message('hold', { hold: 'stopped', stops: 1 }),
    message('board', { phase: 'idle', mode: 'auto', counts: {} }),
    message('board', { phase: 'running', mode: 'auto', counts: {} }),
    message('plan', { sessionId: 'plan1', status: 'running' }),
    message('plan', { sessionId: 'plan1', status: 'paused' }),
    message('draft', { run: 'draft1', text: '' }),
    message('inbox', { count: 3 }),
    message('something new', {}),
  ])

  expect([...updates.tasks]).toEqual([['t1', { id: 't1', status: 'active' }]])
  expect(updates.logs.get('board')).toEqual([
    { run: 'board', seq: 1 },
    { run: 'board', seq: 2 },
  ])
  expect(updates.roomEvents.get('general')).toEqual([{ thread: 'general', text: 'hello' }])
  expect(updates.hold).toEqual({ hold: 'stopped', stops: 1 })
  expect(updates.board?.phase).toBe('running')
  expect([...updates.plans]).toEqual([['plan1', { sessionId: 'plan1', status: 'paused' }]])
  expect([...updates.drafts]).toEqual([['draft1', { run: 'draft1', text: '' }]])
  expect(updates.inbox).toBe(3)
  expect(updates.reset).toBe(false)
})

test('a reset among other messages is noticed', () => {
  expect(collectUpdates([message('log', { run: 'a' }), message('reset', {})]).reset).toBe(true)
})
