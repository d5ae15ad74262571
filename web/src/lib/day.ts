// What all runs have used of what they may use in a day.

import type { Budget } from './budget'
import type { Today } from './wire'
import { duration, money, tokens } from './words'

/** By the name that a raise has in the API. */
export type Kind = 'turns' | 'tokens' | 'cost_usd' | 'minutes'

export interface DayBudget extends Omit<Budget, 'had' | 'most'> {
  kind: Kind
  limit: number
}

/** Only what has a limit. */
export function dayBudgets(day: Today): DayBudget[] {
  return [
    budget('turns', 'Turns', day.turns, day.max_turns, String),
    budget('tokens', 'Tokens', day.tokens, day.max_tokens, tokens),
    budget('cost_usd', 'Cost', day.cost_usd, day.max_usd, money),
    budget('minutes', 'Since the first turn', day.minutes, day.max_minutes, inMinutes),
  ].filter((each) => each !== undefined)
}

function budget(
  kind: Kind,
  name: string,
  used: number,
  limit: number | null,
  say: (value: number) => string,
): DayBudget | undefined {
  return limit ? { kind, name, used, limit, words: `${say(used)} of ${say(limit)}` } : undefined
}

function inMinutes(value: number): string {
  return duration(value * 60)
}

/** K5: whether the sum can pass the limit, and what happens at it. */
export function dayRule(day: Today): string {
  if (!day.holds) return ''
  const then = day.at_limit === 'stop' ? 'runs end' : 'runs wait for you, or for the next day'
  return `Budgets of tokens and cost ${day.holds}. At a limit ${then}.`
}
