import { expect, test } from 'vitest'
import { arranged, choices, COLUMNS, matches } from './columns'
import type { TaskView } from './wire'

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

test('what is pinned comes first, then what is ready, then by priority', () => {
  const rows = arranged(
    [
      task('late'),
      task('ready', { ready: true }),
      task('urgent', { ready: true, priority: 5 }),
      task('pinned', { pinned: true }),
    ],
    {},
  )

  expect(rows[0]!.map(({ id }) => id)).toEqual(['pinned', 'urgent', 'ready', 'late'])
})

test('the newest is on top of the others', () => {
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

test('a filter wants every word, in any order', () => {
  const found = task('t1', { title: 'Fix the login page', tags: ['ui'], agent: 'codex' as never })

  expect(matches(found, { text: 'LOGIN fix', tag: 'ui', agent: 'codex' })).toBe(true)
  expect(matches(found, { text: 'logout' })).toBe(false)
  expect(matches(found, { tag: 'api' })).toBe(false)
  expect(choices([found, task('x', { tags: ['b', 'ui'] })], ({ tags }) => tags)).toEqual([
    'b',
    'ui',
  ])
})
