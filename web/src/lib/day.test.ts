import { expect, test } from 'vitest'
import { dayBudgets, dayRule } from './day'
import type { Today } from './wire'

const DAY: Today = {
  begins_at: '2026-01-01T00:00:00Z',
  ends_at: '2026-01-02T00:00:00Z',
  turns: 12,
  tokens: 34_000,
  cost_usd: 1.2,
  minutes: 95,
  reserved_tokens: 0,
  reserved_usd: 0,
  max_turns: null,
  max_tokens: 100_000,
  max_usd: 5,
  max_minutes: 480,
  near: '',
  at_limit: 'pause',
  holds: 'hold exactly',
}

test('of a day only what has a limit is a budget', () => {
  expect(dayBudgets(DAY).map(({ kind, words }) => `${kind}: ${words}`)).toEqual([
    'tokens: 34k of 100k',
    'cost_usd: $1.20 of $5.00',
    'minutes: 1h 35m of 8h',
  ])
})

test('K5 it is said whether the sum can pass the limit, and what happens at it', () => {
  expect(dayRule(DAY)).toBe(
    'Budgets of tokens and cost hold exactly. At a limit runs wait for you, or for the next day.',
  )
  expect(dayRule({ ...DAY, at_limit: 'stop' })).toMatch('At a limit runs end.')
  expect(dayRule({ ...DAY, holds: '' })).toBe('')
})
