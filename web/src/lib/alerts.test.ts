import { expect, test } from 'vitest'
import { showsNotification, isUrgent, snapshot, newAlerts } from './alerts'
import type { PlanView, RunView, TaskView, Waiting } from './api-types'

const nothing = snapshot([], [], [], 'running')

function waiting(id: string, kind: Waiting['kind'] = 'pending'): Waiting {
  return {
    id,
    run: `board/${id}`,
    kind,
    text: 'An hour, or a day?',
    since: '2026-01-01T00:00:00Z',
    do: '',
    options: [],
    questions: [],
    hint: '',
    title: `Task ${id}`,
    task: id,
  }
}

const task = (status: string) =>
  ({ id: 't1', title: 'Sessions', status, note: '' }) as unknown as TaskView

const run = (outcome: string | null, parent: string | null = null) =>
  ({ id: 'auto-1', title: 'Goal', outcome, parent, reason: 'reached' }) as unknown as RunView

const alertsBetween = (before: typeof nothing, now: typeof nothing) =>
  newAlerts(before, now).map(({ kind, title }) => [kind, title])

test('P11 a new inbox item has one alert', () => {
  const one = snapshot([waiting('t1')], [], [], 'running')
  const two = snapshot([waiting('t1'), waiting('t2', 'failed')], [], [], 'running')

  expect(alertsBetween(nothing, one)).toEqual([['needs_you', 'Needs you: Task t1']])
  expect(alertsBetween(one, two)).toEqual([['failed', 'Failed: Task t2']])
  expect(alertsBetween(two, one)).toEqual([])
})

test('an item with another id or time is the same item', () => {
  const before = snapshot([waiting('t1')], [], [], 'running')
  const same = { ...waiting('t1'), id: 'board/t1', since: '2026-01-01T00:01:00Z' }

  expect(alertsBetween(before, snapshot([same], [], [], 'running'))).toEqual([])
})

test('P11 a finished task has an alert, and so has the end of the board', () => {
  const before = snapshot([], [task('merging')], [], 'running')
  const now = snapshot([], [task('done')], [], 'completed')

  expect(alertsBetween(before, now).map(([kind]) => kind)).toEqual(['finished', 'all_done'])
  expect(alertsBetween(nothing, now).map(([kind]) => kind)).toEqual(['all_done'])
})

test('the end of a thread has an alert, the end of a run of the board has none', () => {
  const of = (run: RunView) => snapshot([], [], [run], '')

  expect(alertsBetween(of(run(null)), of(run('done')))).toEqual([['finished', 'Finished: Goal']])
  expect(alertsBetween(of(run(null)), of(run('failed')))).toEqual([
    ['failed', 'Ended (failed): Goal'],
  ])
  expect(alertsBetween(of(run(null, 'board')), of(run('done', 'board')))).toEqual([])
  expect(alertsBetween(nothing, of(run('done')))).toEqual([])
})

test('P11 a pause and a resume make a sound, but no notification', () => {
  const at = (phase: string) => snapshot([], [], [], phase)

  const paused = newAlerts(at('running'), at('paused'))
  const resumed = newAlerts(at('paused'), at('running'))

  expect([...paused, ...resumed].map(({ kind }) => kind)).toEqual(['paused', 'resumed'])
  expect([...paused, ...resumed].some(showsNotification)).toBe(false)
  expect(newAlerts(at(''), at('paused'))).toEqual([])
})

test('a rate limit has one alert, which is not urgent', () => {
  const limited = (id: string) =>
    ({
      ...{ id, title: 'Sessions', status: 'waiting', outcome: null, needs_you: false },
      reason: 'every agent is at its limit, until 12:30',
    }) as unknown as RunView
  const one = snapshot([], [], [limited('board/t1.1')], 'running')
  const two = snapshot([], [], [limited('board/t1.1'), limited('board/t2.1')], 'running')

  expect(alertsBetween(nothing, one)).toEqual([['limited', 'Paused (rate limit): Sessions']])
  expect(alertsBetween(one, two)).toEqual([])
  expect(newAlerts(nothing, one).map(showsNotification)).toEqual([true])
  expect(newAlerts(nothing, one).map(isUrgent)).toEqual([false])
})

test('p11 a plan makes a sound for each step, failure, pause, resume and its end', () => {
  const plan = (given: object) =>
    ({
      ...{ sessionId: 'plan1', title: 'Tidy', status: 'running', outcome: null, pauseReason: null },
      ...{ completedSteps: 1, failedSteps: 0, ...given },
    }) as unknown as PlanView
  const heard = (before: object, now: object) => {
    const [alert] = newAlerts(
      snapshot([], [], [], '', [plan(before)]),
      snapshot([], [], [], '', [plan(now)]),
    )
    expect(alert && showsNotification(alert)).toBeFalsy()
    return alert?.kind
  }
  const paused = (pauseReason: string) => ({ status: 'paused', pauseReason })
  expect(heard({}, {})).toBeUndefined()
  expect(heard({}, { completedSteps: 2 })).toBe('step_done')
  expect(heard({}, paused('failed'))).toBe('step_failed')
  expect(heard({}, { failedSteps: 1 })).toBe('step_failed')
  expect(heard({}, paused('user'))).toBe('paused')
  expect(heard(paused('user'), {})).toBe('resumed')
  expect(heard({}, { status: 'idle', outcome: 'done' })).toBe('plan_done')
  expect(heard({}, paused('approval'))).toBeUndefined()
})
