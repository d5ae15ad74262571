import { expect, test } from 'vitest'
import { deedsFor, wordsOf, type Deed } from './deeds'
import type { TaskView } from './wire'

const task = (status: string, known: Partial<TaskView> = {}): TaskView =>
  ({ id: 't1', status, attempts: [], iterations: null, ...known }) as unknown as TaskView
const named = (deeds: Deed[], key: string) => deeds.find((deed) => deed.key === key)?.name

test('the keys of failed and timed-out tasks are those of the command line', () => {
  for (const status of ['failed', 'timeout', 'blocked']) {
    const deeds = deedsFor(task(status))

    expect(['r', 'e', 'R', '+'].map((key) => named(deeds, key))).toEqual([
      'retry',
      'edit_task',
      'rollback',
      'limit',
    ])
  }
})

test('no key means two things', () => {
  for (const status of [
    'pending',
    'active',
    'waiting',
    'review',
    'blocked',
    'failed',
    'timeout',
    'done',
  ]) {
    const keys = deedsFor(task(status)).flatMap(({ key }) => key ?? [])

    expect(new Set(keys).size).toBe(keys.length)
  }
})

test('a deed becomes the words of a command', () => {
  const deed = (status: string, name: string, known = {}) =>
    deedsFor(task(status, known)).find((each) => each.name === name)!
  const used = [{ run: 'r', began_at: '', tally: { turns: 60 } }] as TaskView['attempts']

  expect(wordsOf(deed('waiting', 'answer'), task('waiting'), 'yes')).toEqual({
    command: 'answer',
    texts: ['yes'],
  })
  expect(wordsOf(deed('pending', 'unpin', { pinned: true }), task('pending'), '')).toEqual({
    command: 'pin',
    on: false,
  })
  expect(wordsOf(deed('timeout', 'limit'), task('timeout', { attempts: used }), '')).toEqual({
    command: 'limit',
    iterations: 90,
  })
  expect(wordsOf(deed('failed', 'split'), task('failed'), ' a \n\nb')).toEqual({
    command: 'split',
    titles: ['a', 'b'],
  })
  expect(wordsOf(deed('failed', 'retry'), task('failed'), '')).toEqual({ command: 'retry' })
})
