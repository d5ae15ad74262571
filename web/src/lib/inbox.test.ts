import { expect, test } from 'vitest'
import { commandTarget, questionsOf, optionalText, needsAnswer, inboxActions } from './inbox'
import type { Waiting } from './api-types'

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

test('a permission request has buttons, and commands name the question', () => {
  const asked = waiting({ options: ['allow', 'session', 'deny'], task: 'T1' })

  expect(inboxActions(asked).map(({ command, words }) => [command, words])).toEqual([
    ['allow', undefined],
    ['allow', { session: true }],
    ['deny', undefined],
  ])
  expect(commandTarget(asked)).toBe('board/t1:q1')
})

test('a question needs an answer, several questions one each', () => {
  const asked = waiting({
    kind: 'question',
    questions: [
      { text: 'Which?', options: [{ label: 'a', text: '' }] },
      { text: 'Why?' },
    ] as Waiting['questions'],
  })

  expect(needsAnswer(asked)).toBe(true)
  expect(inboxActions(asked)).toEqual([])
  expect(questionsOf(asked)).toEqual([
    { text: 'Which?', options: [{ label: 'a', meaning: '' }] },
    { text: 'Why?', options: [] },
  ])
  expect(questionsOf(waiting({ kind: 'pending', text: 'How long?' }))).toEqual([
    { text: 'How long?', options: [] },
  ])
})

test('commands name the task or the run, and unknown options have no button', () => {
  expect(commandTarget(waiting({ kind: 'failed', task: 'T1' }))).toBe('T1')
  expect(commandTarget(waiting({ kind: 'paused' }))).toBe('board/t1')
  expect(
    inboxActions(waiting({ kind: 'failed', options: ['retry', 'dance'] })).map(
      ({ command }) => command,
    ),
  ).toEqual(['retry'])
})

test('K6 a limit is raised for the run, not for its task', () => {
  const asked = waiting({ kind: 'limit', task: 'T1', options: ['limit', 'abort'] })

  expect(inboxActions(asked).map(({ command, words }) => [command, words])).toEqual([
    ['limit', { times: 1.5 }],
    ['abort', undefined],
  ])
  expect(commandTarget(asked)).toBe('board/t1')
})

test('U4 each button has its own key, and some items take a text', () => {
  for (const options of [
    ['allow', 'session', 'deny'],
    ['resume', 'abort'],
    ['approve', 'reject'],
    ['retry', 'skip'],
  ]) {
    const all = inboxActions(waiting({ kind: 'paused', options })).map(({ key }) => key)
    expect(new Set(all).size).toBe(options.length)
  }
  expect(optionalText(waiting({ options: ['allow', 'deny'] }))).toBe('deny')
  expect(optionalText(waiting({ kind: 'paused', options: ['resume', 'tell'] }))).toBe('say')
  expect(optionalText(waiting({ kind: 'limit', options: ['limit', 'abort'] }))).toBe('')
})
