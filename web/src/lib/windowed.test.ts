import { expect, test } from 'vitest'
import { inSight } from './windowed'

test('shows what is in sight and a little more', () => {
  expect(inSight(10_000, 20, 2_000, 400)).toEqual({ first: 92, last: 128 })
  expect(inSight(5, 20, 0, 400)).toEqual({ first: 0, last: 5 })
  expect(inSight(5, 20, 90_000, 400)).toEqual({ first: 5, last: 5 })
  expect(inSight(0, 20, 0, 400)).toEqual({ first: 0, last: 0 })
})
