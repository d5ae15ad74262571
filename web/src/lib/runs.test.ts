import { expect, test } from 'vitest'
import { aboutTask, choices, fits, newestFirst, outOf, standing, taskIn } from './runs'
import type { RunView } from './wire'

function run(id: string, more: Partial<RunView> = {}): RunView {
  return { id, kind: 'task', title: '', status: 'running', reason: '', ...more } as RunView
}

const ANY = { text: '', kind: '', status: '' }

test('a run is found by words of its name, title and reason, in any order', () => {
  const found = run('auto1', { title: 'Write a parser', reason: 'codex takes a turn' })

  expect(fits(found, ANY)).toBe(true)
  expect(fits(found, { ...ANY, text: 'PARSER codex' })).toBe(true)
  expect(fits(found, { ...ANY, text: 'parser lexer' })).toBe(false)
})

test('kind and status are filters; a status is how it ended, if it did', () => {
  const done = run('a', { kind: 'auto', status: 'done', outcome: 'done' })

  expect(fits(done, { ...ANY, kind: 'room' })).toBe(false)
  expect(fits(done, { ...ANY, kind: 'auto', status: 'done' })).toBe(true)
  expect(choices([done, run('b')], standing)).toEqual(['done', 'running'])
})

test('what is known twice is listed once, as it was said last', () => {
  const old = run('a', { opened_at: '2026-01-01T00:00:00Z' })
  const other = run('b', { opened_at: '2026-01-02T00:00:00Z' })
  const newer = { ...old, status: 'done' }

  expect(newestFirst([old], [other, newer])).toEqual([other, newer])
})

test('a run of the board names its task', () => {
  expect(taskIn('board/T3.1')).toBe('T3')
  expect(taskIn('board/v1.2.m1')).toBe('v1.2')
  expect(taskIn('board')).toBe('')
  expect(taskIn('room:default')).toBe('')
})

test('how many were found says whether there are older ones', () => {
  expect(outOf(3, 41, true)).toBe('3 of 41')
  expect(outOf(40, 40, false)).toBe('40 of the latest 40')
})

test('a line of the board is about a task', () => {
  expect(aboutTask('board/T2.1 waits: asks: How long?')).toEqual({
    task: 'T2',
    rest: 'waits: asks: How long?',
  })
  expect(aboutTask('starts merge T1.merge1')).toEqual({ task: 'T1', rest: 'starts merge' })
  expect(aboutTask('started board/v1.2.3')).toEqual({ task: 'v1.2', rest: 'started' })
  expect(aboutTask('paused by you')).toBeUndefined()
})
