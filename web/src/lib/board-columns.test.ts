import { expect, test } from 'vitest'
import { arranged, choices, COLUMNS, matches, orderWith, shownStatus } from './board-columns'
import type { TaskView } from './api-types'

const task = (id: string, known: Partial<TaskView> = {}): TaskView =>
  ({
    id,
    title: id,
    body: '',
    status: 'pending',
    tags: [],
    priority: 0,
    attempts: [],
    ...known,
  }) as TaskView

test('every status has its column', () => {
  const statuses =
    'pending active waiting review merging done blocked failed timeout skipped cancelled'

  const rows = arranged(
    statuses.split(' ').map((status) => task(status, { status })),
    {},
  )

  expect(
    Object.fromEntries(COLUMNS.map(({ name }, n) => [name, rows[n]!.map(({ id }) => id)])),
  ).toEqual({
    todo: ['pending'],
    running: ['active'],
    attention: ['waiting', 'blocked', 'failed', 'timeout'],
    review: ['review'],
    merging: ['merging'],
    done: ['done', 'skipped', 'cancelled'],
  })
})

test('cards are in the order in which they are started', () => {
  const rows = arranged(
    [
      task('late'),
      task('ready', { ready: true }),
      task('urgent', { ready: true, priority: 5 }),
      task('pinned', { pin: 1 }),
      task('first', { pin: 2 }),
      task('wanted', { assigned: true }),
      task('scored', { ready: true, score: 20 }),
    ],
    {},
  )

  expect(rows[0]!.map(({ id }) => id)).toEqual([
    ...['wanted', 'first', 'pinned', 'scored', 'urgent', 'ready', 'late'],
  ])
})

test('a moved card is sent with all cards before it', () => {
  const row = ['a', 'b', 'c', 'd'].map((id) => task(id))

  expect(orderWith(row, 'c', 0)).toEqual(['c'])
  expect(orderWith(row, 'c', 1)).toEqual(['a', 'c'])
  expect(orderWith(row, 'a', 2)).toEqual(['b', 'a'])
  expect(orderWith(row, 'a', 9)).toEqual(['b', 'c', 'd', 'a'])
  expect(orderWith(row, 'd', -3)).toEqual(['d'])
  for (const at of [1, 2]) expect(orderWith(row, 'b', at)).toBeUndefined()
  expect(orderWith(row, 'd', 9)).toBeUndefined()
  expect(orderWith(row, 'x', 0)).toBeUndefined()
})

test('the newest card is on top', () => {
  const at = (time: string) =>
    [{ run: 'r', began_at: `2026-01-01T${time}Z` }] as TaskView['attempts']

  const rows = arranged(
    [
      task('a', { status: 'done', attempts: at('10:00:00') }),
      task('b', { status: 'done', attempts: at('11:00:00') }),
    ],
    {},
  )

  expect(rows[5]!.map(({ id }) => id)).toEqual(['b', 'a'])
})

test('a filter matches all words, in any order', () => {
  const found = task('t1', { title: 'Fix the login page', tags: ['ui'], agent: 'codex' as never })

  expect(matches(found, { text: 'LOGIN fix', tag: 'ui', agent: 'codex' })).toBe(true)
  expect(matches(found, { text: 'logout' })).toBe(false)
  expect(matches(found, { tag: 'api' })).toBe(false)
  expect(choices([found, task('x', { tags: ['b', 'ui'] })], ({ tags }) => tags)).toEqual([
    'b',
    'ui',
  ])
})

test('a task whose run waits for a slot is queued, not running', () => {
  const task = { status: 'active' } as unknown as TaskView

  expect(shownStatus(task, 'queued')).toBe('queued')
  expect(shownStatus(task, 'running')).toBe('active')
  expect(shownStatus({ ...task, status: 'review' }, 'queued')).toBe('review')
})
