import { expect, test } from 'vitest'
import {
  boardAction,
  commandFor,
  commentLabel,
  KEYS,
  runActions,
  taskActions,
  threadActions,
  type Action,
} from './actions'
import type { AutoView, RunView, TaskView } from './api-types'

const REMEDIES = ['retry', 'edit', 'rollback', 'split', 'skip']
const task = (status: string, known: Partial<TaskView> = {}): TaskView =>
  ({ id: 't1', status, attempts: [], remedies: REMEDIES, ...known }) as unknown as TaskView
const named = (actions: Action[], key: string) => actions.find((action) => action.key === key)?.name

test('the keys of failed and timed-out tasks are those of the command line', () => {
  for (const status of ['failed', 'timeout', 'blocked']) {
    const actions = taskActions(task(status))

    expect(['r', 'e', 'R', 'X', '+', 'x', 'S'].map((key) => named(actions, key))).toEqual([
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
    taskActions(task('failed', { remedies }))
      .filter(({ isUnhelpful }) => !isUnhelpful)
      .map(({ name }) => name)

  expect(offered(['retry', 'edit'])).toEqual(['retry', 'edit_task', 'clean', 'remove_task'])
  expect(offered(['retry', 'limit'])).toEqual(['retry', 'limit', 'clean', 'remove_task'])
  expect(named(taskActions(task('failed')), '+')).toBe('limit')
})

test('a pending task whose agent died has remedies, like a failed one', () => {
  const names = (remedies: string[]) =>
    taskActions(task('pending', { remedies }))
      .filter(({ isUnhelpful }) => !isUnhelpful)
      .map(({ name }) => name)

  expect(names(REMEDIES).slice(0, 3)).toEqual(['retry', 'edit_task', 'rollback'])
  expect(names(REMEDIES)).toContain('clean')
  expect(names([])[0]).toBe('assign')
})

test('the best remedy is the first action', () => {
  const firstOf = (remedies: string[]) =>
    taskActions(task('failed', { remedies })).find(({ isFirst }) => isFirst)?.name

  expect(firstOf(['edit', 'retry'])).toBe('edit_task')
  expect(firstOf(['split', 'retry'])).toBe('split')
})

test('skipped and cancelled tasks can be restored', () => {
  expect(taskActions(task('skipped')).find(({ isFirst }) => isFirst)?.name).toBe('rollback')
  expect(taskActions(task('cancelled')).find(({ isFirst }) => isFirst)?.name).toBe('retry')
})

test('a stopped task can only be resumed', () => {
  expect(taskActions(task('pending'), 'stopped').map(({ name }) => name)).toEqual(['resume'])
  expect(taskActions(task('pending', { remedies: [] }), 'aborted')[0]?.name).toBe('assign')
})

test('actions that discard work need a confirmation', () => {
  for (const { name, warning } of taskActions(task('failed')))
    expect([name, !!warning]).toEqual([name, ['rollback', 'clean', 'remove_task'].includes(name)])
})

test('no key has two meanings', () => {
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
    const keys = taskActions(task(status)).flatMap(({ key }) => key ?? [])

    expect(new Set(keys).size).toBe(keys.length)
    expect(keys.filter((key) => !KEYS[key])).toEqual([])
  }
})

test('an action becomes a command', () => {
  const action = (status: string, name: string, known = {}) =>
    taskActions(task(status, known)).find((each) => each.name === name)!

  expect(commandFor(action('waiting', 'answer', { attempts: [{}] }), 'yes')).toEqual({
    command: 'answer',
    texts: ['yes'],
  })
  expect(commandFor(action('pending', 'unpin', { pinned: true }), '')).toEqual({
    command: 'pin',
    on: false,
  })
  expect(commandFor(action('timeout', 'limit'), '')).toEqual({
    command: 'limit',
    times: 1.5,
  })
  expect(commandFor(action('failed', 'split'), ' a \n\nb')).toEqual({
    command: 'split',
    titles: ['a', 'b'],
  })
  expect(commandFor(action('failed', 'retry'), '')).toEqual({ command: 'retry' })
})

test('a failed merge can be repeated, and a conflict goes back to the agent', () => {
  const attempts = [{ outcome: 'done' }] as TaskView['attempts']
  const unfit = { attempts, lacks_merge: false, remedies: ['retry', 'edit', 'rollback'] }
  const unmerged = { attempts, lacks_merge: true, remedies: ['approve', ...unfit.remedies] }
  const firsts = [
    taskActions(task('waiting', unmerged)),
    taskActions(task('waiting', unfit)),
    taskActions(task('waiting', { attempts: [{}] as TaskView['attempts'] })),
  ].map((actions) => actions.find(({ isFirst }) => isFirst)?.name)

  expect(firsts).toEqual(['approve', 'retry', 'answer'])
  for (const each of [unmerged, unfit])
    expect(taskActions(task('waiting', each)).map(({ name }) => name)).toContain('rollback')
})

test('the label for sending comments depends on the status of the task', () => {
  expect(commentLabel('review')).toBe('Send back')
  expect(commentLabel('active')).toBe('Send to the agent')
  expect(commentLabel('timeout')).toBe('Retry with comments')
  expect(commentLabel('done')).toBe('')
})

test('a run of any kind can be paused and stopped, resumed while held, and nothing once over', () => {
  const names = (run: Partial<RunView>) => runActions(run as RunView).map(({ name }) => name)

  expect(names({ status: 'running' })).toEqual(['pause', 'stop'])
  expect(names({ status: 'interrupted' })).toEqual(['resume'])
  expect(names({ status: 'done', outcome: 'done' })).toEqual([])
})

test('a thread can be stopped while it works or pauses', () => {
  const names = (status: string, condition = '') =>
    threadActions({ status } as RunView, { condition } as AutoView).map(({ name }) => name)

  expect(names('running')).toEqual(['pause', 'stop', 'abort'])
  expect(names('pausing')).toEqual(['resume', 'stop', 'abort'])
  expect(names('waiting', 'budget: turns')).toEqual(['resume', 'abort'])
})

test('the board can be started if a task is ready and nothing is stopped', () => {
  const ready = [{ ready: true }] as TaskView[]

  expect(boardAction('running', ready, false)).toBe('pause')
  expect(boardAction('paused', [], false)).toBe('resume')
  expect(boardAction('idle', ready, false)).toBe('start')
  expect(boardAction('idle', [], false)).toBeUndefined()
  expect(boardAction('idle', ready, true)).toBeUndefined()
})
