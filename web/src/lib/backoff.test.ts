import { expect, test } from 'vitest'
import { waitBefore } from './backoff'

test('waits longer each time, up to the limit, with jitter', () => {
  const backoff = { first_ms: 100, most_ms: 1_000 }

  expect([0, 1, 2, 3, 4, 400].map((attempt) => waitBefore(attempt, backoff, 1))).toEqual([
    100, 200, 400, 800, 1_000, 1_000,
  ])
  expect(waitBefore(0, backoff, 0)).toBe(50)
})
