import { expect, test } from 'vitest'
import type { PlanText, PlanView } from './api-types'
import { planDetail, progressWords, stepCount, stepPosition, stepRows } from './plan-steps'

const PLAN: PlanText = {
  phases: [
    {
      name: 'Preparation',
      steps: [
        { id: '1.1', text: 'List\nall of them' },
        { id: '1.2', text: 'Pin', done: true },
      ],
    },
    {
      name: 'Move',
      steps: [
        { id: '2.1', text: 'Cut' },
        { id: '2.2', text: 'Paste' },
      ],
    },
    { name: 'End', steps: [{ id: '3.1', text: 'Tidy' }] },
  ],
}

const view = (given: Partial<PlanView>) =>
  ({
    ...{ currentPhaseIndex: 1, currentStepIndex: 1, totalSteps: 5, completedSteps: 2 },
    ...{ pauseReason: null, outcome: null, reason: '', skipReasons: [], skippedSteps: [] },
    ...given,
  }) as unknown as PlanView

const states = (given: Partial<PlanView>) =>
  stepRows(PLAN, view(given)).map((row) =>
    row.is === 'phase' ? `${row.name} ${row.finished}/${row.total}` : row.state,
  )

test('p12 each step has a state by its place, its reason to be skipped, and its tick', () => {
  const skipReasons = [{ step: '2.1', reason: 'not needed' }]
  expect(states({ skipReasons })).toEqual([
    ...['Preparation 2/2', 'done', 'done'],
    ...['Move 1/2', 'skipped', 'current'],
    ...['End 0/1', 'later'],
  ])
  const skipped = stepRows(PLAN, view({ skipReasons }))[4]
  expect(skipped).toMatchObject({ number: 3, reason: 'not needed' })
})

test('a step that paused the plan has failed, and carries the reason', () => {
  const rows = stepRows(PLAN, view({ pauseReason: 'failed', reason: 'its check fails' }))
  expect(rows[5]).toMatchObject({ state: 'failed', reason: 'its check fails' })
})

test('after an abort the current step was not done', () => {
  expect(states({ outcome: 'aborted' })[5]).toBe('later')
  expect(states({ outcome: 'failed' })[5]).toBe('failed')
})

test('the place is counted over all phases, and stays at the last step at the end', () => {
  expect(stepPosition(PLAN, view({}))).toBe(3)
  expect(stepCount(PLAN, view({}))).toBe('4/5')
  const end = view({ currentPhaseIndex: 2, currentStepIndex: 1, outcome: 'done' })
  expect(stepCount(PLAN, end)).toBe('5/5')
  expect(
    stepRows(PLAN, end).filter((row) => row.is === 'step' && row.state === 'done'),
  ).toHaveLength(5)
})

test('progress in words, and the details of other kinds are no plan', () => {
  expect(progressWords(view({ skippedSteps: ['2.1'] }))).toBe('2 of 5 steps done, 1 skipped')
  expect(planDetail(null)).toBeUndefined()
})
