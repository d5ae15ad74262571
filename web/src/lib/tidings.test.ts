import { expect, test } from 'vitest'
import { isNotified, isUrgent, known, tidings } from './tidings'
import type { RunView, TaskView, Waiting } from './wire'

const nothing = known([], [], [], 'running')

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

const occasions = (before: typeof nothing, now: typeof nothing) =>
  tidings(before, now).map(({ occasion, title }) => [occasion, title])

test('P11 what newly waits for a person is told once', () => {
  const one = known([waiting('t1')], [], [], 'running')
  const two = known([waiting('t1'), waiting('t2', 'failed')], [], [], 'running')

  expect(occasions(nothing, one)).toEqual([['needs_you', 'Needs you: Task t1']])
  expect(occasions(one, two)).toEqual([['failed', 'Failed: Task t2']])
  expect(occasions(two, one)).toEqual([])
})

test('what waits by another name, or since another time, is the same', () => {
  const before = known([waiting('t1')], [], [], 'running')
  const same = { ...waiting('t1'), id: 'board/t1', since: '2026-01-01T00:01:00Z' }

  expect(occasions(before, known([same], [], [], 'running'))).toEqual([])
})

test('P11 a task that became done, and the last of them, are told', () => {
  const before = known([], [task('merging')], [], 'running')
  const now = known([], [task('done')], [], 'completed')

  expect(occasions(before, now).map(([occasion]) => occasion)).toEqual(['finished', 'all_done'])
  expect(occasions(nothing, now).map(([occasion]) => occasion)).toEqual(['all_done'])
})

test('a thread that ended is told, a run of the board is not', () => {
  const of = (run: RunView) => known([], [], [run], '')

  expect(occasions(of(run(null)), of(run('done')))).toEqual([['finished', 'Finished: Goal']])
  expect(occasions(of(run(null)), of(run('failed')))).toEqual([['failed', 'Ended (failed): Goal']])
  expect(occasions(of(run(null, 'board')), of(run('done', 'board')))).toEqual([])
  expect(occasions(nothing, of(run('done')))).toEqual([])
})

test('P11 a pause and going on are heard and not shown', () => {
  const at = (phase: string) => known([], [], [], phase)

  const paused = tidings(at('running'), at('paused'))
  const resumed = tidings(at('paused'), at('running'))

  expect([...paused, ...resumed].map(({ occasion }) => occasion)).toEqual(['paused', 'resumed'])
  expect([...paused, ...resumed].some(isNotified)).toBe(false)
  expect(tidings(at(''), at('paused'))).toEqual([])
})

test('when every agent is at its limit that is told once, and disturbs nobody at night', () => {
  const limited = (id: string) =>
    ({
      ...{ id, title: 'Sessions', status: 'waiting', outcome: null, needs_you: false },
      reason: 'every agent is at its limit, until 12:30 UTC',
    }) as unknown as RunView
  const one = known([], [], [limited('board/t1.1')], 'running')
  const two = known([], [], [limited('board/t1.1'), limited('board/t2.1')], 'running')

  expect(occasions(nothing, one)).toEqual([['limited', 'Paused (rate limit): Sessions']])
  expect(occasions(one, two)).toEqual([])
  expect(tidings(nothing, one).map(isNotified)).toEqual([true])
  expect(tidings(nothing, one).map(isUrgent)).toEqual([false])
})
