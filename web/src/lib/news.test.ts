import { expect, test } from 'vitest'
import { gather } from './news'

const message = (kind: string, value: object) => ({ kind, data: JSON.stringify(value), id: '' })

test('of values the last counts, of lines all', () => {
  const news = gather([
    message('task', { id: 't1', status: 'pending' }),
    message('log', { run: 'board', seq: 1 }),
    message('task', { id: 't1', status: 'active' }),
    message('log', { run: 'board', seq: 2 }),
    message('room', { thread: 'general', text: 'hello' }),
    message('hold', { hold: 'stopped', stops: 1 }),
    message('board', { phase: 'idle', mode: 'auto', counts: {} }),
    message('board', { phase: 'running', mode: 'auto', counts: {} }),
    message('inbox', { count: 3 }),
    message('something new', {}),
  ])

  expect([...news.tasks]).toEqual([['t1', { id: 't1', status: 'active' }]])
  expect(news.logs.get('board')).toEqual([
    { run: 'board', seq: 1 },
    { run: 'board', seq: 2 },
  ])
  expect(news.rooms.get('general')).toEqual([{ thread: 'general', text: 'hello' }])
  expect(news.hold).toEqual({ hold: 'stopped', stops: 1 })
  expect(news.board?.phase).toBe('running')
  expect(news.inbox).toBe(3)
  expect(news.reset).toBe(false)
})

test('a reset is noticed among others', () => {
  expect(gather([message('log', { run: 'a' }), message('reset', {})]).reset).toBe(true)
})
