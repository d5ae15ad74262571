import { expect, test } from 'vitest'
import { commandFor, commentLabel, KEYS, runActions, taskActions, type Action } from './actions'
import type { RunView, TaskView } from './api-types'

const STALLED = ['retry', 'edit_task', 'rollback', 'split', 'skip', 'clean', 'remove_task', 'limit']
const task = (actions: string[], known: Partial<TaskView> = {}): TaskView =>
  ({ id: 't1', status: 'failed', actions, remedies: [], ...known }) as unknown as TaskView
const run = (...actions: string[]) => ({ actions }) as unknown as RunView
const first = (actions: Action[]) => actions.find(({ isFirst }) => isFirst)?.name

test('the keys of failed and timed-out tasks are those of the command line', () => {
  const actions = taskActions(task(STALLED))
  const named = (key: string) => actions.find((action) => action.key === key)?.name

  expect(['r', 'e', 'R', 'X', '+', 'x', 'S'].map(named)).toEqual([
    'retry',
    'edit_task',
    'rollback',
    'clean',
    'limit',
    'skip',
    'split',
  ])
})

test('the limit is offered only where raising it helps, and its key works everywhere', () => {
  const isUnhelpful = (remedies: string[]) =>
    taskActions(task(STALLED, { remedies })).find(({ name }) => name === 'limit')!.isUnhelpful

  expect(isUnhelpful(['retry', 'limit'])).toBe(false)
  expect(isUnhelpful(['retry'])).toBe(true)
})

test('the first action of the server is the best, unless it discards or holds work', () => {
  expect(first(taskActions(task(['edit_task', 'retry'])))).toBe('edit_task')
  expect(first(taskActions(task(['rollback'], { status: 'done' })))).toBeUndefined()
  expect(first(taskActions(task(['rollback'], { status: 'skipped' })))).toBe('rollback')
  expect(first(runActions(run('pause', 'stop')))).toBeUndefined()
  expect(first(runActions(run('resume')))).toBe('resume')
})

test('the actions of its run come after those of the task', () => {
  const names = (actions: Action[]) => actions.map(({ name }) => name)

  expect(names(taskActions(task(['say', 'comment']), run('pause', 'stop')))).toEqual([
    'say',
    'pause',
    'stop',
  ])
  expect(names(taskActions(task([]), run('resume')))).toEqual(['resume'])
})

test('labels follow the state of the task', () => {
  const label = (name: string, known: Partial<TaskView>) =>
    taskActions(task([name], known))[0]!.label

  expect(label('approve', {})).toBe('Approve')
  expect(label('approve', { lacks_merge: true })).toBe('Merge again')
  expect(label('rollback', { status: 'skipped' })).toBe('Restore')
  expect(label('pin', { pinned: true })).toBe('Unpin')
})

test('actions that discard work need a confirmation', () => {
  for (const { name, warning } of taskActions(task(STALLED)))
    expect([name, !!warning]).toEqual([name, ['rollback', 'clean', 'remove_task'].includes(name)])
})

test('every key of an action is in the list of keys', () => {
  const keys = taskActions(task([...STALLED, 'assign', 'pin', 'say'])).flatMap(
    ({ key }) => key ?? [],
  )

  expect(new Set(keys).size).toBe(keys.length)
  expect(keys.filter((key) => !KEYS[key])).toEqual([])
})

test('an action becomes a command', () => {
  const command = (name: string, text: string, known = {}) =>
    commandFor(taskActions(task([name], known))[0]!, text)

  expect(command('answer', 'yes')).toEqual({ command: 'answer', texts: ['yes'] })
  expect(command('pin', '', { pinned: true })).toEqual({ command: 'pin', on: false })
  expect(command('limit', '')).toEqual({ command: 'limit', times: 1.5 })
  expect(command('split', ' a \n\nb')).toEqual({ command: 'split', titles: ['a', 'b'] })
  expect(command('retry', '')).toEqual({ command: 'retry' })
})

test('the label for sending comments depends on what the task accepts', () => {
  expect(commentLabel(task(['approve', 'redo', 'comment']))).toBe('Send back')
  expect(commentLabel(task(['say', 'comment']))).toBe('Send to the agent')
  expect(commentLabel(task(['retry', 'comment']))).toBe('Retry with comments')
  expect(commentLabel(task(['rollback']))).toBe('')
})

test('work with findings is approved in a dialog that names them', () => {
  const approve = (to_confirm: string) => taskActions(task(['approve'], { to_confirm }))[0]!

  expect(approve('deleted test: a.py').warning).toBe('Findings: deleted test: a.py')
  expect(commandFor(approve('deleted test: a.py'), '')).toEqual({
    command: 'approve',
    confirmed: true,
  })
  expect(commandFor(approve(''), '')).toEqual({ command: 'approve' })
})
