import { expect, test } from 'vitest'
import type { FinishedTask, Forecast, TimeUse } from './api-types'
import {
  band,
  begin,
  burnUp,
  byHour,
  countTicks,
  deviation,
  parts,
  percent,
  ticks,
  timeTicks,
} from './charts'

const NOON = Date.parse('2026-01-01T12:00:00Z')

function finished(minutes: number): FinishedTask {
  const at = new Date(NOON + minutes * 60_000).toISOString()
  return { task: 'T1', title: 'x', at, status: 'done', iterations: 1, cost_usd: 1, partial: false }
}

test('an axis has round numbers and reaches the largest value', () => {
  expect(ticks(0.83)).toEqual([0, 0.5, 1])
  expect(ticks(12)).toEqual([0, 5, 10, 15])
  expect(ticks(0)).toEqual([0, 1])
  expect(countTicks(2)).toEqual([0, 1, 2])
  expect(countTicks(1)).toEqual([0, 1])
  for (const most of [0.002, 1, 3, 7.3, 99, 12_345])
    expect(ticks(most).at(-1)).toBeGreaterThanOrEqual(most)
})

test('times on an axis are full hours or days, and few', () => {
  const found = timeTicks(NOON + 60_000, NOON + 4 * 3_600_000)
  expect(found.length).toBeLessThanOrEqual(5)
  expect(found.every((at) => at % 3_600_000 === 0)).toBe(true)
  expect(timeTicks(NOON, NOON).length).toBe(1)
})

test('tasks are counted by the hour in which they finished, empty hours too', () => {
  const bars = byHour([finished(5), finished(20), finished(150)], NOON + 170 * 60_000)
  expect(bars.map((bar) => bar.value)).toEqual([2, 0, 1])
  expect(byHour([], NOON)).toEqual([])
  expect(byHour([finished(0)], NOON + 100 * 3_600_000).length).toBe(24)
})

test('a forecast begins at what has finished', () => {
  const forecast = {
    made_at: new Date(NOON).toISOString(),
    course: [{ finished: 2, seconds: { p10: 10, p50: 20, p90: 40 } }],
  } as unknown as Forecast

  expect(burnUp([finished(1), finished(2)]).map(({ count }) => count)).toEqual([1, 2])
  expect(band(forecast, 3)).toEqual([
    { count: 3, early: NOON, likely: NOON, late: NOON },
    { count: 5, early: NOON + 10_000, likely: NOON + 20_000, late: NOON + 40_000 },
  ])
})

test('the parts of the time have a fixed order, and what is not is left out', () => {
  const time: TimeUse = {
    agent_s: 60,
    checks_s: 0,
    answer_s: 20,
    review_s: 20,
    queue_s: 0,
    other_s: 0,
  }

  expect(parts(time).map(({ name, share }) => [name, share])).toEqual([
    ['Agents work', 0.6],
    ['Waits for your answer', 0.2],
    ['Waits for your review', 0.2],
  ])
  expect([0, 0.004, 0.2, 0.996, 1].map(percent)).toEqual([
    '0 %',
    '< 1 %',
    '20 %',
    '> 99 %',
    '100 %',
  ])
})

test('a deviation says which way', () => {
  expect([0, 720, -300].map(deviation)).toEqual(['inside', '12m later', '5m earlier'])
})

test('what is to come is not squeezed by a long past', () => {
  expect(begin(0, 1_000_000, 1_000_000)).toBe(0)
  expect(begin(0, 1_000_000, 1_100_000)).toBe(700_000)
  expect(begin(900_000, 1_000_000, 1_900_000)).toBe(900_000)
})
