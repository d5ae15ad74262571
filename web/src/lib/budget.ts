// What a run has used of what it may use.

import { duration, money, tokens } from './words'
import type { Limits, Tally } from './wire'

export interface Budget {
  name: string
  used: number
  limit: number | undefined
  /** "12k of 50k"; without a limit what was used. */
  words: string
  /** The same in parts: "12k", and "of 50k" or nothing. */
  had: string
  most: string
}

export function budgets(tally: Tally, limits: Limits, elapsed_s: number): Budget[] {
  const used_tokens = (tally.input ?? 0) + (tally.output ?? 0)
  return [
    budget('Turns', tally.turns ?? 0, limits.turns, String),
    budget('Tokens', used_tokens, limits.tokens, tokens),
    budget('Cost', tally.cost_microusd ?? 0, limits.cost_microusd, (value) => money(value / 1e6)),
    limits.busy_s
      ? budget('Time at work', tally.busy_s ?? 0, limits.busy_s, duration)
      : budget('Time', elapsed_s, limits.time_s, duration),
  ]
}

function budget(
  name: string,
  used: number,
  limit: number | null | undefined,
  say: (value: number) => string,
): Budget {
  const had = say(used)
  const most = limit ? `of ${say(limit)}` : ''
  return { name, used, limit: limit ?? undefined, words: `${had} ${most}`.trim(), had, most }
}

/** K5: whether the sum can pass a limit, in a sentence. */
export function passing(limits: Limits, tokenBudgets: string): string {
  if (!limits.turns && !limits.tokens && !limits.cost_microusd && !limits.time_s && !limits.busy_s)
    return 'There is no limit: it goes on until it is done or you stop it.'
  return tokenBudgets ? `Budgets of tokens and cost ${tokenBudgets}.` : ''
}
