import { expect, test } from 'vitest'
import { readCheck, readChecks, withCheck, type CheckLine } from './gate-checks'

test.each([
  [
    '✓ Unit Tests passed (42s / 600s)',
    { name: 'Unit Tests', state: 'passed', time: '42s / 600s', required: true },
  ],
  [
    '● TypeScript running (0s / 120s)',
    { name: 'TypeScript', state: 'running', time: '0s / 120s', required: true },
  ],
  ['○ Linting waiting', { name: 'Linting', state: 'waiting', time: '', required: true }],
  [
    '✗ Unit Tests TIMEOUT (600s / 600s)',
    { name: 'Unit Tests', state: 'timeout', time: '600s / 600s', required: true },
  ],
  [
    '✗ lint failed with exit code 1 (3s / 60s)',
    { name: 'lint', state: 'failed', time: '3s / 60s', required: true },
  ],
  [
    '✗ lint could not be run (0s / 60s)',
    { name: 'lint', state: 'failed', time: '0s / 60s', required: true },
  ],
  [
    '⚠ Style TIMEOUT (60s / 60s), not required',
    { name: 'Style', state: 'timeout', time: '60s / 60s', required: false },
  ],
  ['● lint running on 0123456789, without the work', undefined],
  ['some output', undefined],
])('reads %s', (line, check) => {
  expect(readCheck(line)).toEqual(check)
})

test('each check has one line, and a gate that runs again starts over', () => {
  const lines = ['● a running', '○ b waiting', '✓ a passed', '● b running', '✗ b TIMEOUT']
  const gate = (all: string[]) =>
    all.reduce<CheckLine[]>((so_far, line) => withCheck(so_far, readCheck(line)!), [])

  expect(gate(lines).map(({ state }) => state)).toEqual(['passed', 'timeout'])
  expect(gate([...lines, '● a running']).map(({ state }) => state)).toEqual(['running', 'waiting'])
})

test('joined lines are split', () => {
  const together = '● Unit tests running (0s / 600s)○ Types waiting'

  expect(readChecks(together).map(({ name, state }) => [name, state])).toEqual([
    ['Unit tests', 'running'],
    ['Types', 'waiting'],
  ])
})
