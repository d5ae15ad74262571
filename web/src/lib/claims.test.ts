import { expect, test } from 'vitest'
import { claimOf } from './claims'
import type { LogLine } from './wire'

const line = (text: string, type = 'move_ended'): LogLine => ({
  ...{ run: 'board/T1.1', seq: 1, at: '2026-01-01T00:00:00Z', mark: '✓' },
  ...{ type, text },
})

test('progress is a number and words', () => {
  expect(claimOf([line('PROGRESS: 40% the query is paged · 22,400 tokens')])).toEqual({
    name: 'PROGRESS',
    percent: 40,
    text: 'the query is paged',
  })
  expect(claimOf([line('progress: 60 % nearly', 'noted')])).toMatchObject({ percent: 60 })
})

test('the latest counts, and work that is said to be done claims nothing else', () => {
  const lines = [line('PROGRESS: 40%'), line('BLOCKED: no key')]

  expect(claimOf(lines)).toEqual({ name: 'BLOCKED', text: 'no key' })
  expect(claimOf([...lines, line('runs Unit tests', 'move_started')])?.name).toBe('BLOCKED')
  expect(claimOf([...lines, line('COMPLETE · done')])).toBeUndefined()
  expect(claimOf([])).toBeUndefined()
})
