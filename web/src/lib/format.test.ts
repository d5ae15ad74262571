import { expect, test } from 'vitest'
import { age, count, duration, money, tokens } from './format'

test('numbers as people read them', () => {
  expect([0, 0.004, 1.5, 12].map((usd) => money(usd))).toEqual(['$0', '<$0.01', '$1.50', '$12.00'])
  expect([0, 0.004, 1.5].map((usd) => money(usd, true))).toEqual([
    'cost unknown',
    '≥ $0.01',
    '≥ $1.50',
  ])
  expect([7, 1_234, 45_600, 2_500_000].map(tokens)).toEqual(['7', '1.2k', '46k', '2.5M'])
  expect([3, 61, 3_600, 3_900, 200_000].map(duration)).toEqual(['3s', '1m', '1h', '1h 5m', '2d'])
  expect([count(1, 'run'), count(1_200, 'run')]).toEqual(['1 run', '1,200 runs'])
})

test('an age is never negative, and may be unknown', () => {
  expect(age('2026-01-01T00:00:05Z', Date.parse('2026-01-01T00:00:00Z'))).toBe('0s')
  expect(age(null, 0)).toBe('')
})
