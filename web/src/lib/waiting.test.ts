import { expect, test } from 'vitest'
import { nameOf, questionsOf, takesWords, wantsWords, ways } from './waiting'
import type { Waiting } from './wire'

const waiting = (known: Partial<Waiting>): Waiting =>
  ({
    id: 'board/t1:q1',
    run: 'board/t1',
    kind: 'leave',
    text: 'rm -r build',
    since: '',
    do: '',
    ...known,
  }) as Waiting

test('who asks for leave is given a choice, by the name of the question', () => {
  const asked = waiting({ options: ['allow', 'session', 'deny'], task: 'T1' })

  expect(ways(asked).map(({ command, words }) => [command, words])).toEqual([
    ['allow', undefined],
    ['allow', { session: true }],
    ['deny', undefined],
  ])
  expect(nameOf(asked)).toBe('board/t1:q1')
})

test('a question gets words, each of several its own', () => {
  const asked = waiting({
    kind: 'question',
    questions: [
      { text: 'Which?', options: [{ label: 'a', text: '' }] },
      { text: 'Why?' },
    ] as Waiting['questions'],
  })

  expect(wantsWords(asked)).toBe(true)
  expect(ways(asked)).toEqual([])
  expect(questionsOf(asked)).toEqual([
    { text: 'Which?', options: [{ label: 'a', meaning: '' }] },
    { text: 'Why?', options: [] },
  ])
  expect(questionsOf(waiting({ kind: 'pending', text: 'How long?' }))).toEqual([
    { text: 'How long?', options: [] },
  ])
})

test('a task is told by its id, a run by its own, and unknown ways are not offered', () => {
  expect(nameOf(waiting({ kind: 'failed', task: 'T1' }))).toBe('T1')
  expect(nameOf(waiting({ kind: 'paused' }))).toBe('board/t1')
  expect(
    ways(waiting({ kind: 'failed', options: ['retry', 'dance'] })).map(({ command }) => command),
  ).toEqual(['retry'])
})

test('K6 a limit is raised where it holds: of the run, not of its task', () => {
  const asked = waiting({ kind: 'limit', task: 'T1', options: ['limit', 'abort'] })

  expect(ways(asked).map(({ command, words }) => [command, words])).toEqual([
    ['limit', { times: 1.5 }],
    ['abort', undefined],
  ])
  expect(nameOf(asked)).toBe('board/t1')
})

test('U4 each way has a key of its own, and some take words', () => {
  for (const options of [
    ['allow', 'session', 'deny'],
    ['resume', 'abort'],
    ['approve', 'reject'],
    ['retry', 'skip'],
  ]) {
    const all = ways(waiting({ kind: 'paused', options })).map(({ key }) => key)
    expect(new Set(all).size).toBe(options.length)
  }
  expect(takesWords(waiting({ options: ['allow', 'deny'] }))).toBe('deny')
  expect(takesWords(waiting({ kind: 'paused', options: ['resume', 'tell'] }))).toBe('say')
  expect(takesWords(waiting({ kind: 'limit', options: ['limit', 'abort'] }))).toBe('')
})
