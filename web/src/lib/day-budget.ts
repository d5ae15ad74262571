// The day's budget: what all runs have used of the day's limits.

import type { Budget } from './budget'
import type { Today } from './api-types'
import { duration, money, tokens } from './format'

/** The API's names for raising a limit. */
export type Kind = 'turns' | 'tokens' | 'cost_usd' | 'minutes'

export interface DayBudget extends Omit<Budget, 'used_text' | 'limit_text'> {
  kind: Kind
  limit: number
}

/** Only those that have a limit. */
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
  format: (value: number) => string,
): DayBudget | undefined {
  return limit
    ? { kind, name, used, limit, words: `${format(used)} of ${format(limit)}` }
    : undefined
}

function inMinutes(value: number): string {
  return duration(value * 60)
}

/** K5: whether the usage can pass a limit, and what happens at the limit. */
export function dayRule(day: Today): string {
  if (!day.holds) return ''
  const then = day.at_limit === 'stop' ? 'runs end' : 'runs wait for you or for the next day'
  return `Token and cost budgets ${day.holds}. At a limit, ${then}.`
}
