// The steps of a plan: their state as flat rows, and the place that the plan has reached.

import type { PlanStep, PlanText, PlanView, RunDetail } from './api-types'

export type StepState = 'done' | 'current' | 'failed' | 'skipped' | 'later'

export interface PhaseRow {
  is: 'phase'
  key: string
  number: number
  name: string
  /** Steps that are done or skipped. */
  finished: number
  total: number
}

export interface StepRow {
  is: 'step'
  key: string
  /** Counted from 1, over all phases. */
  number: number
  step: PlanStep
  state: StepState
  /** Why it was skipped or failed. */
  reason: string
}

/** The details of a run, if it is a plan. */
export function planDetail(detail: RunDetail['detail']): PlanView | undefined {
  return detail && 'currentPhaseIndex' in detail ? detail : undefined
}

/** The first line of a step's text. */
export function stepTitle({ text }: PlanStep): string {
  return text.split('\n', 1)[0]!
}

/** How many steps come before the current one; after the last step, all. */
export function stepPosition({ phases = [] }: PlanText, view: PlanView): number {
  return phases
    .slice(0, view.currentPhaseIndex)
    .reduce((sum, { steps = [] }) => sum + steps.length, view.currentStepIndex)
}

/** "3/12": the number of the current step, and of all. */
export function stepCount(plan: PlanText, view: PlanView): string {
  return `${Math.min(stepPosition(plan, view) + 1, view.totalSteps)}/${view.totalSteps}`
}

/** All phases and steps, one row each. */
export function stepRows(plan: PlanText, view: PlanView): (PhaseRow | StepRow)[] {
  const position = stepPosition(plan, view)
  const skipped = new Map(view.skipReasons.map(({ step, reason }) => [step, reason]))
  const rows: (PhaseRow | StepRow)[] = []
  let place = 0
  for (const [index, { name, steps = [] }] of (plan.phases ?? []).entries()) {
    const phase: PhaseRow = {
      is: 'phase',
      key: `phase ${index}`,
      number: index + 1,
      name,
      finished: 0,
      total: steps.length,
    }
    rows.push(phase)
    for (const step of steps) {
      const state = stateOf(step, place - position, view, skipped)
      if (state === 'done' || state === 'skipped') phase.finished++
      const reason = skipped.get(step.id) ?? (state === 'failed' ? view.reason : '')
      rows.push({ is: 'step', key: `step ${place}`, number: ++place, step, state, reason })
    }
  }
  return rows
}

function stateOf(
  { id, done }: PlanStep,
  distance: number,
  view: PlanView,
  skipped: ReadonlyMap<string, string>,
): StepState {
  if (skipped.has(id)) return 'skipped'
  if (done || distance < 0) return 'done'
  if (distance > 0) return 'later'
  if (view.pauseReason === 'failed' || view.outcome === 'failed') return 'failed'
  return view.outcome ? 'later' : 'current'
}

/** How far a plan is, for lists: "4 of 12 steps done, 1 skipped". */
export function progressWords({ completedSteps, totalSteps, skippedSteps }: PlanView): string {
  const skipped = skippedSteps.length ? `, ${skippedSteps.length} skipped` : ''
  return `${completedSteps} of ${totalSteps} steps done${skipped}`
}
