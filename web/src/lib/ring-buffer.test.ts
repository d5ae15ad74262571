import { expect, test } from 'vitest'
import { RingBuffer } from './ring-buffer'

test('keeps the newest and counts the dropped ones', () => {
  const ring = new RingBuffer<number>(8)

  ring.push(...Array.from({ length: 11 }, (_, n) => n))

  expect(ring.all()).toEqual([3, 4, 5, 6, 7, 8, 9, 10])
  expect(ring.dropped).toBe(3)
})

test('never holds more than a quarter too many', () => {
  const ring = new RingBuffer<number>(100)
  let most = 0

  for (let n = 0; n < 10_000; n++) {
    ring.push(n)
    most = Math.max(most, ring.length)
  }

  expect(most).toBeLessThanOrEqual(126)
  expect(ring.last()).toBe(9_999)
  expect(ring.dropped + ring.length).toBe(10_000)
})
