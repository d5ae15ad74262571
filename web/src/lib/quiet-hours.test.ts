import { expect, test } from 'vitest'
import { isQuiet } from './quiet-hours'

const at = (time: string) => new Date(`2026-01-15T${time}:00Z`)

test('p11: over midnight, and not', () => {
  expect(isQuiet('22:00-07:00', 'UTC', at('23:30'))).toBe(true)
  expect(isQuiet('22:00-07:00', 'UTC', at('06:59'))).toBe(true)
  expect(isQuiet('22:00-07:00', 'UTC', at('07:00'))).toBe(false)
  expect(isQuiet('12:00-13:00', 'UTC', at('12:30'))).toBe(true)
  expect(isQuiet('12:00-13:00', 'UTC', at('13:00'))).toBe(false)
})

test('p11: by the clock of the zone', () => {
  expect(isQuiet('22:00-07:00', 'Europe/Berlin', at('21:30'))).toBe(true)
  expect(isQuiet('22:00-07:00', 'America/New_York', at('21:30'))).toBe(false)
})
