import { expect, test } from 'vitest'
import { stopReceipts } from './stop-receipts'
import type { RecordList } from './api-types'

const halted = {
  asked_at: '2026-01-01T12:00:00Z',
  took_ms: 41.5,
  by: 'here:1',
  killed: [{ label: 'codex', pid: 77 }],
  discarded: ['auto1: turn 2'],
  runs: { auto1: 'in a turn' },
}
const helm = [
  { run: 'helm', seq: 1, type: 'commanded', event: {} },
  { run: 'helm', seq: 2, type: 'halted', event: halted },
  { run: 'board', seq: 3, type: 'halted', event: { ...halted, runs: { board: 'at rest' } } },
  {
    run: 'board',
    seq: 4,
    type: 'halted',
    event: { ...halted, asked_at: '2026-01-02T12:00:00Z', runs: { board: 'stopped' } },
  },
] as unknown as RecordList['events']

test('a run has the receipts of its stops', () => {
  const [stop, ...more] = stopReceipts('auto1', helm)

  expect(more).toEqual([])
  expect(stop).toEqual({
    key: 'helm 2',
    asked_at: '2026-01-01T12:00:00Z',
    took_ms: 41.5,
    by: 'here:1',
    killed: ['codex (process 77)'],
    discarded: ['auto1: turn 2'],
    status: 'in a turn',
  })
})

test('a stop of a run includes the runs below it', () => {
  expect(stopReceipts('board/T1.1', helm).map(({ status }) => status)).toEqual([
    'stopped',
    'at rest',
  ])
  expect(stopReceipts('board2', helm)).toEqual([])
})
