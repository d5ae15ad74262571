// The budget of a run: what it has used of its limits.

import { duration, money, tokens } from './format'
import type { Limits, Tally } from './api-types'

export interface Budget {
  name: string
  used: number
  limit: number | undefined
  /** "12k of 50k"; without a limit "12k". */
  words: string
  /** The same in two parts: "12k", and "of 50k" or ''. */
  used_text: string
  limit_text: string
}

export function budgets(tally: Tally, limits: Limits, elapsed_s: number): Budget[] {
  const used_tokens = (tally.input ?? 0) + (tally.output ?? 0)
  return [
    budget('Turns', tally.turns ?? 0, limits.turns, String),
    budget('Tokens', used_tokens, limits.tokens, tokens),
    budget('Cost', tally.cost_microusd ?? 0, limits.cost_microusd, (value) => money(value / 1e6)),
    limits.busy_s
      ? budget('Working time', tally.busy_s ?? 0, limits.busy_s, duration)
      : budget('Time', elapsed_s, limits.time_s, duration),
  ]
}

function budget(
  name: string,
  used: number,
  limit: number | null | undefined,
  format: (value: number) => string,
): Budget {
  const used_text = format(used)
  const limit_text = limit ? `of ${format(limit)}` : ''
  return {
    name,
    used,
    limit: limit ?? undefined,
    words: `${used_text} ${limit_text}`.trim(),
    used_text,
    limit_text,
  }
}

/** K5: whether the usage can pass a limit, in a sentence. */
export function limitRule(limits: Limits, tokenBudgets: string): string {
  if (!limits.turns && !limits.tokens && !limits.cost_microusd && !limits.time_s && !limits.busy_s)
    return 'No limits: it works until it is done or you stop it.'
  return tokenBudgets ? `Token and cost budgets ${tokenBudgets}.` : ''
}
