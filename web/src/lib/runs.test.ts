import { expect, test } from 'vitest'
import { taskInLine, choices, matches, newestFirst, countLabel, statusOf, taskOfRun } from './runs'
import type { RunView } from './api-types'

function run(id: string, more: Partial<RunView> = {}): RunView {
  return { id, kind: 'task', title: '', status: 'running', reason: '', ...more } as RunView
}

const ANY = { text: '', kind: '', status: '' }

test('a run is found by words of its name, title and reason, in any order', () => {
  const found = run('auto1', { title: 'Write a parser', reason: 'codex takes a turn' })

  expect(matches(found, ANY)).toBe(true)
  expect(matches(found, { ...ANY, text: 'PARSER codex' })).toBe(true)
  expect(matches(found, { ...ANY, text: 'parser lexer' })).toBe(false)
})

test('kind and status are filters; the status of an ended run is its outcome', () => {
  const done = run('a', { kind: 'auto', status: 'done', outcome: 'done' })

  expect(matches(done, { ...ANY, kind: 'room' })).toBe(false)
  expect(matches(done, { ...ANY, kind: 'auto', status: 'done' })).toBe(true)
  expect(choices([done, run('b')], statusOf)).toEqual(['done', 'running'])
})

test('a run is listed once, with its latest state', () => {
  const old = run('a', { opened_at: '2026-01-01T00:00:00Z' })
  const other = run('b', { opened_at: '2026-01-02T00:00:00Z' })
  const newer = { ...old, status: 'done' }

  expect(newestFirst([old], [other, newer])).toEqual([other, newer])
})

test('a run of the board names its task', () => {
  expect(taskOfRun('board/T3.1')).toBe('T3')
  expect(taskOfRun('board/v1.2.m1')).toBe('v1.2')
  expect(taskOfRun('board')).toBe('')
  expect(taskOfRun('room:default')).toBe('')
})

test('the count says whether older runs were searched', () => {
  expect(countLabel(3, 41, true)).toBe('3 of 41')
  expect(countLabel(40, 40, false)).toBe('40 of the latest 40')
})

test('a line of the board is about a task', () => {
  expect(taskInLine('board/T2.1 waits: asks: How long?')).toEqual({
    task: 'T2',
    rest: 'waits: asks: How long?',
  })
  expect(taskInLine('starts merge T1.merge1')).toEqual({ task: 'T1', rest: 'starts merge' })
  expect(taskInLine('started board/v1.2.3')).toEqual({ task: 'v1.2', rest: 'started' })
  expect(taskInLine('paused by you')).toBeUndefined()
})
