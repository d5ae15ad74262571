import { expect, test } from 'vitest'
import { withLocalTimes } from './local-times'

const local = (at: string, seconds = false) =>
  new Date(at).toLocaleTimeString('en-GB', {
    ...{ hour: '2-digit', minute: '2-digit' },
    ...(seconds && { second: '2-digit' }),
  })

test('a time of today is shown as a local time', () => {
  expect(withLocalTimes('at its limit, until 12:30 UTC', '2026-01-02T08:00:00Z')).toBe(
    `at its limit, until ${local('2026-01-02T12:30:00Z')}`,
  )
  expect(withLocalTimes('tried again at 21:36:31 UTC', '2026-01-02T21:00:00Z')).toBe(
    `tried again at ${local('2026-01-02T21:36:31Z', true)}`,
  )
})

test('a time of another day keeps its date', () => {
  expect(withLocalTimes('until 2026-01-05 12:30 UTC', '2026-01-02T08:00:00Z')).toContain('5 Jan, ')
})

test('other text stays as it is', () => {
  expect(withLocalTimes('24:99 UTC and 12:30')).toBe('24:99 UTC and 12:30')
})
