import { expect, test } from 'vitest'
import { dayBudgets, dayRule } from './day-budget'
import type { Today } from './api-types'

const DAY: Today = {
  begins_at: '2026-01-01T00:00:00Z',
  ends_at: '2026-01-02T00:00:00Z',
  turns: 12,
  tokens: 34_000,
  cost_usd: 1.2,
  partial: false,
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

test('only values with a limit are budgets', () => {
  expect(dayBudgets(DAY).map(({ kind, words }) => `${kind}: ${words}`)).toEqual([
    'tokens: 34k of 100k',
    'cost_usd: $1.20 of $5.00',
    'minutes: 1h 35m of 8h',
  ])
})

test('K5 the rule says whether usage can pass the limit, and what happens then', () => {
  expect(dayRule(DAY)).toBe(
    'Token and cost budgets hold exactly. At a limit, runs wait for you or for the next day.',
  )
  expect(dayRule({ ...DAY, at_limit: 'stop' })).toMatch('At a limit, runs end.')
  expect(dayRule({ ...DAY, holds: '' })).toBe('')
})
