import { expect, test } from 'vitest'
import { budgets, limitRule } from './budget'

test('each budget has its usage, and its limit if there is one', () => {
  const tally = { turns: 3, input: 9_000, output: 1_000, cost_microusd: 250_000, busy_s: 61 }
  const found = budgets(tally, { turns: 10, cost_microusd: 1_000_000, time_s: 3_600 }, 120)

  expect(found.map(({ name, words }) => `${name}: ${words}`)).toEqual([
    'Turns: 3 of 10',
    'Tokens: 10k',
    'Cost: $0.25 of $1.00',
    'Time: 2m of 1h',
  ])
  expect(found.map(({ limit }) => limit)).toEqual([10, undefined, 1_000_000, 3_600])
})

test('a limit of the working time is shown as such', () => {
  expect(budgets({ busy_s: 61 }, { busy_s: 600 }, 9_999).at(-1)?.words).toBe('1m of 10m')
})

test('the rule says whether usage can pass the limit', () => {
  expect(limitRule({ tokens: 5 }, 'hold exactly')).toBe('Token and cost budgets hold exactly.')
  expect(limitRule({}, 'hold exactly')).toMatch('No limits')
})
