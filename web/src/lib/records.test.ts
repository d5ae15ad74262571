import { expect, test } from 'vitest'
import { behind, failuresOf, logOf, type Recorded } from './records'

const recorded = (type: string, event: object, ...lines: string[]): Recorded => ({
  ...{ run: 'board/T1.1', seq: 7, at: '2026-01-01T00:00:00Z', type, lines },
  event: event as Recorded['event'],
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
  expect(logOf([CHECKED])).toMatchObject([{ mark: '✗', text: '1 of 4 passed', seq: 7 }])
})

test('behind a line is all that an agent said, not its last line', () => {
  const turn = { result: { result: 'turn_done', text: 'First.\n\nThen **this**.' } }

  expect(behind(recorded('move_ended', turn, '✓ Then'))).toEqual([
    { title: '', text: 'First.\n\nThen **this**.', is: 'words' },
  ])
})

test('behind items are their texts: of programs as output', () => {
  const items = [
    { kind: 'message', text: 'I look.' },
    { kind: 'command', text: 'ls\na.py' },
  ]

  expect(behind(recorded('noted', { items }))).toEqual([
    { title: 'message', text: 'I look.', is: 'words' },
    { title: 'command', text: 'ls\na.py', is: 'output' },
  ])
})

test('an event that says no more than its line is that line', () => {
  expect(behind(recorded('stopped', {}, '■ allstop'))).toEqual([
    { title: '', text: 'allstop', is: 'words' },
  ])
})

test('of checks that failed there is the exit code, the time and the end of the output', () => {
  expect(failuresOf([CHECKED])).toEqual([
    { name: 'Tests', verdict: 'exit code 2', seconds: 61, output: 'E1\nE2' },
    { name: 'Slow', verdict: 'timed out', seconds: 600, output: '' },
    { name: 'Gone', verdict: 'could not be run', seconds: 0, output: '' },
  ])
  expect(failuresOf([])).toEqual([])
})
