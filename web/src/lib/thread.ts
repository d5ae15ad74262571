// Whether a thread of full auto is on, and what can be done with it as it stands.

import type { AutoView, RunView } from './wire'

export type Switch = 'on' | 'off' | 'over'

const HELD = ['paused', 'pausing', 'stopped', 'frozen', 'interrupted']

/** A thread that a decision paused, or that is at its limit, is off as well: a person has a say. */
export function switchOf(run: RunView, auto: AutoView): Switch {
  if (run.outcome) return 'over'
  return HELD.includes(run.status) || auto.condition ? 'off' : 'on'
}

/** Whether it waits only until somebody has looked: switched on, it does what was decided. */
export function wantsLook(auto: AutoView): boolean {
  return auto.condition.startsWith('unsafe: ')
}

/** What the switch says of itself. */
export function stateWords(run: RunView, auto: AutoView): string {
  switch (switchOf(run, auto)) {
    case 'over':
      return `Over: ${run.outcome}`
    case 'on':
      return auto.asks.length ? 'On, and asks you' : 'On'
    case 'off':
      if (run.status === 'pausing') return 'Going off after this turn'
      if (auto.condition.startsWith('budget: ')) return 'Off: at its limit'
      if (wantsLook(auto)) return 'Off: wants your look'
      return run.status === 'stopped' ? 'Off: stopped' : 'Off'
  }
}
