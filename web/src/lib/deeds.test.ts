import { expect, test } from 'vitest'
import { deedsFor, KEYS, wordsOf, type Deed } from './deeds'
import type { TaskView } from './wire'

const REMEDIES = ['retry', 'edit', 'rollback', 'split', 'skip']
const task = (status: string, known: Partial<TaskView> = {}): TaskView =>
  ({ id: 't1', status, attempts: [], remedies: REMEDIES, ...known }) as unknown as TaskView
const named = (deeds: Deed[], key: string) => deeds.find((deed) => deed.key === key)?.name

test('the keys of failed and timed-out tasks are those of the command line', () => {
  for (const status of ['failed', 'timeout', 'blocked']) {
    const deeds = deedsFor(task(status))

    expect(['r', 'e', 'R', 'X', '+', 'x', 'S'].map((key) => named(deeds, key))).toEqual([
      'retry',
      'edit_task',
      'rollback',
      'clean',
      'limit',
      'skip',
      'split',
    ])
  }
})

test('the limit is offered only where raising it helps, and its key works everywhere', () => {
  const offered = (remedies: string[]) =>
    deedsFor(task('failed', { remedies }))
      .filter(({ isUnhelpful }) => !isUnhelpful)
      .map(({ name }) => name)

  expect(offered(['retry', 'edit'])).toEqual(['retry', 'edit_task', 'clean', 'remove_task'])
  expect(offered(['retry', 'limit'])).toEqual(['retry', 'limit', 'clean', 'remove_task'])
  expect(named(deedsFor(task('failed')), '+')).toBe('limit')
})

test('a pending task whose agent died can be helped like one that failed', () => {
  const names = (remedies: string[]) =>
    deedsFor(task('pending', { remedies }))
      .filter(({ isUnhelpful }) => !isUnhelpful)
      .map(({ name }) => name)

  expect(names(REMEDIES).slice(0, 3)).toEqual(['retry', 'edit_task', 'rollback'])
  expect(names(REMEDIES)).toContain('clean')
  expect(names([])[0]).toBe('assign')
})

test('what helps most is the first', () => {
  const firstOf = (remedies: string[]) =>
    deedsFor(task('failed', { remedies })).find(({ isFirst }) => isFirst)?.name

  expect(firstOf(['edit', 'retry'])).toBe('edit_task')
  expect(firstOf(['split', 'retry'])).toBe('split')
})

test('nothing is a dead end: what nobody will do can be put back', () => {
  expect(deedsFor(task('skipped')).find(({ isFirst }) => isFirst)?.name).toBe('rollback')
  expect(deedsFor(task('cancelled')).find(({ isFirst }) => isFirst)?.name).toBe('retry')
})

test('what was stopped goes on where it was, and can not be begun anew', () => {
  expect(deedsFor(task('pending'), 'stopped').map(({ name }) => name)).toEqual(['resume'])
  expect(deedsFor(task('pending', { remedies: [] }), 'aborted')[0]?.name).toBe('assign')
})

test('what throws something away is asked once more', () => {
  for (const { name, warning } of deedsFor(task('failed')))
    expect([name, !!warning]).toEqual([name, ['rollback', 'clean', 'remove_task'].includes(name)])
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
    'skipped',
    'cancelled',
  ]) {
    const keys = deedsFor(task(status)).flatMap(({ key }) => key ?? [])

    expect(new Set(keys).size).toBe(keys.length)
    expect(keys.filter((key) => !KEYS[key])).toEqual([])
  }
})

test('a deed becomes the words of a command', () => {
  const deed = (status: string, name: string, known = {}) =>
    deedsFor(task(status, known)).find((each) => each.name === name)!

  expect(wordsOf(deed('waiting', 'answer', { attempts: [{}] }), 'yes')).toEqual({
    command: 'answer',
    texts: ['yes'],
  })
  expect(wordsOf(deed('pending', 'unpin', { pinned: true }), '')).toEqual({
    command: 'pin',
    on: false,
  })
  expect(wordsOf(deed('timeout', 'limit'), '')).toEqual({
    command: 'limit',
    times: 1.5,
  })
  expect(wordsOf(deed('failed', 'split'), ' a \n\nb')).toEqual({
    command: 'split',
    titles: ['a', 'b'],
  })
  expect(wordsOf(deed('failed', 'retry'), '')).toEqual({ command: 'retry' })
})

test('a merge that failed can be tried again, and one that does not fit goes back to the agent', () => {
  const attempts = [{ outcome: 'done' }] as TaskView['attempts']
  const unfit = { attempts, lacks_merge: false, remedies: ['retry', 'edit', 'rollback'] }
  const unmerged = { attempts, lacks_merge: true, remedies: ['approve', ...unfit.remedies] }
  const firsts = [
    deedsFor(task('waiting', unmerged)),
    deedsFor(task('waiting', unfit)),
    deedsFor(task('waiting', { attempts: [{}] as TaskView['attempts'] })),
  ].map((deeds) => deeds.find(({ isFirst }) => isFirst)?.name)

  expect(firsts).toEqual(['approve', 'retry', 'answer'])
  for (const each of [unmerged, unfit])
    expect(deedsFor(task('waiting', each)).map(({ name }) => name)).toContain('rollback')
})
