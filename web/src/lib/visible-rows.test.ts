import { expect, test } from 'vitest'
import { visibleRows } from './visible-rows'

test('draws the visible rows and a few more', () => {
  expect(visibleRows(10_000, 20, 2_000, 400)).toEqual({ first: 92, last: 128 })
  expect(visibleRows(5, 20, 0, 400)).toEqual({ first: 0, last: 5 })
  expect(visibleRows(5, 20, 90_000, 400)).toEqual({ first: 5, last: 5 })
  expect(visibleRows(0, 20, 0, 400)).toEqual({ first: 0, last: 0 })
})
