import { expect, test } from 'vitest'
import { latestSignal } from './agent-signals'
import type { LogLine } from './api-types'

const line = (text: string, type = 'move_ended'): LogLine => ({
  ...{ run: 'board/T1.1', seq: 1, at: '2026-01-01T00:00:00Z', mark: '✓' },
  ...{ type, text },
})

test('a progress signal has a percentage and a text', () => {
  expect(latestSignal([line('PROGRESS: 40% the query is paged · 22,400 tokens')])).toEqual({
    name: 'PROGRESS',
    percent: 40,
    text: 'the query is paged',
  })
  expect(latestSignal([line('progress: 60 % nearly', 'noted')])).toMatchObject({ percent: 60 })
})

test('the latest signal counts, and COMPLETE cancels it', () => {
  const lines = [line('PROGRESS: 40%'), line('BLOCKED: no key')]

  expect(latestSignal(lines)).toEqual({ name: 'BLOCKED', text: 'no key' })
  expect(latestSignal([...lines, line('runs Unit tests', 'move_started')])?.name).toBe('BLOCKED')
  expect(latestSignal([...lines, line('COMPLETE · done')])).toBeUndefined()
  expect(latestSignal([])).toBeUndefined()
})
