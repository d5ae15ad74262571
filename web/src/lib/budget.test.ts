import { expect, test } from 'vitest'
import { budgets, passing } from './budget'

test('each budget says what was used, and of how much where there is a limit', () => {
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

test('where only the time at work is limited, that is shown', () => {
  expect(budgets({ busy_s: 61 }, { busy_s: 600 }, 9_999).at(-1)?.words).toBe('1m of 10m')
})

test('whether the sum can pass the limit is said', () => {
  expect(passing({ tokens: 5 }, 'hold exactly')).toBe('Budgets of tokens and cost hold exactly.')
  expect(passing({}, 'hold exactly')).toMatch('There is no limit')
})
