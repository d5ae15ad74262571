// The switch of a full auto thread: on, off or over, and its label.

import type { AutoView, RunDetail, RunView } from './api-types'

export type SwitchState = 'on' | 'off' | 'over'

/** The details of a run, if it is a thread of Full Auto. */
export function autoDetail(detail: RunDetail['detail']): AutoView | undefined {
  return detail && 'guards' in detail ? detail : undefined
}

/** A thread that a decision paused, or that is at its limit, is off: a person decides. */
export function switchOf(run: RunView): SwitchState {
  if (run.outcome) return 'over'
  return run.actions.includes('resume') ? 'off' : 'on'
}

/** Whether it waits only for a person's look: switched on, it does what was decided. */
export function awaitsReview(auto: AutoView): boolean {
  return auto.condition.startsWith('unsafe: ')
}

export function switchLabel(run: RunView, auto: AutoView): string {
  switch (switchOf(run)) {
    case 'over':
      return `Ended: ${run.outcome}`
    case 'on':
      return auto.asks.length ? 'On, waiting for your answer' : 'On'
    case 'off':
      if (run.status === 'pausing') return 'Turning off after this turn'
      if (auto.condition.startsWith('budget: ')) return 'Off: at its limit'
      if (awaitsReview(auto)) return 'Off: check its changes'
      return run.status === 'stopped' ? 'Off: stopped' : 'Off'
  }
}
