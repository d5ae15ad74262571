import { expect, test } from 'vitest'
import { detailsOf, failedChecks, logLines, type RunEvent } from './run-log'

const recorded = (type: string, event: object, ...lines: string[]): RunEvent => ({
  ...{ run: 'board/T1.1', seq: 7, at: '2026-01-01T00:00:00Z', type, lines },
  event: event as RunEvent['event'],
})

const CHECKED = recorded(
  'move_ended',
  {
    result: {
      result: 'checks_done',
      results: [
        { name: 'Types', run: 'true', passed: true, code: 0, seconds: 1 },
        { name: 'Tests', run: 'make', passed: false, code: 2, seconds: 61, output: 'E1\nE2' },
        { name: 'Slow', run: 'nap', passed: false, timed_out: true, seconds: 600 },
        { name: 'Gone', run: 'no', passed: false },
      ],
    },
  },
  '✗ 1 of 4 passed',
)

test('a line has its mark and its text', () => {
  expect(logLines([CHECKED])).toMatchObject([{ mark: '✗', text: '1 of 4 passed', seq: 7 }])
})

test('the details of a line are the whole text of the agent', () => {
  const turn = { result: { result: 'turn_done', text: 'First.\n\nThen **this**.' } }

  expect(detailsOf(recorded('move_ended', turn, '✓ Then'))).toEqual([
    { title: '', text: 'First.\n\nThen **this**.', is: 'words' },
  ])
})

test('the details of items are their texts, those of programs as output', () => {
  const items = [
    { kind: 'message', text: 'I look.' },
    { kind: 'command', text: 'ls\na.py' },
  ]

  expect(detailsOf(recorded('noted', { items }))).toEqual([
    { title: 'message', text: 'I look.', is: 'words' },
    { title: 'command', text: 'ls\na.py', is: 'output' },
  ])
})

test('an event without texts has its line as details', () => {
  expect(detailsOf(recorded('stopped', {}, '■ allstop'))).toEqual([
    { title: '', text: 'allstop', is: 'words' },
  ])
})

test('a failed check has its exit code, time and output', () => {
  expect(failedChecks([CHECKED])).toEqual([
    { name: 'Tests', verdict: 'exit code 2', seconds: 61, output: 'E1\nE2' },
    { name: 'Slow', verdict: 'timed out', seconds: 600, output: '' },
    { name: 'Gone', verdict: 'could not be run', seconds: 0, output: '' },
  ])
  expect(failedChecks([])).toEqual([])
})
