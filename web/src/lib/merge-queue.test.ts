// M5: the words for the merge queue.

import { expect, test } from 'vitest'
import { batchSize, PLACES, together } from './merge-queue'

test('the size of a batch names the results that it follows from', () => {
  const main = { target: 'main', failed: 1, counted: 50, largest: 8 }
  expect(batchSize(main)).toBe('main: at most 8 changes a batch; 1 of the last 50 failed')
  expect(batchSize({ ...main, largest: 1, failed: 9 })).toContain('one change at a time')
  expect(batchSize({ ...main, counted: 0 })).toContain('nothing merged yet')
})

test('each place has a mark and a word, so that colour is never the only sign', () => {
  const styles = Object.values(PLACES)
  expect(new Set(styles.map(({ word }) => word)).size).toBe(styles.length)
  expect(styles.every(({ mark }) => mark)).toBe(true)
})

test('a batch says how many changes it has', () => {
  const change = { id: 'T1', title: 'One', place: 'next', note: '' } as const
  expect(together([change], 'main')).toBe('1 change to main')
  expect(together([change, change], 'main')).toBe('2 changes to main')
})
