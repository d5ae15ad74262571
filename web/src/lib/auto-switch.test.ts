import { expect, test } from 'vitest'
import { switchLabel, switchOf } from './auto-switch'
import type { AutoView, RunView } from './api-types'

const run = (status: string, outcome: string | null = null) => ({ status, outcome }) as RunView
const auto = (condition = '', asks: object[] = []) => ({ condition, asks }) as unknown as AutoView

test('a thread is on while nothing pauses it', () => {
  expect(switchOf(run('running'), auto())).toBe('on')
  expect(switchOf(run('waiting'), auto())).toBe('on')
  expect(switchLabel(run('waiting'), auto('', [{}]))).toBe('On, waiting for your answer')
})

test('a person, an Allstop, a crash or a decision turns it off', () => {
  for (const status of ['paused', 'pausing', 'stopped', 'frozen', 'interrupted'])
    expect(switchOf(run(status), auto())).toBe('off')
  expect(switchOf(run('waiting'), auto('soft stop: no progress'))).toBe('off')
  expect(switchLabel(run('pausing'), auto())).toBe('Turning off after this turn')
})

test('K6 at its limit it is off, and says so', () => {
  expect(switchOf(run('waiting'), auto('budget: turns: 2 of 2'))).toBe('off')
  expect(switchLabel(run('waiting'), auto('budget: turns: 2 of 2'))).toBe('Off: at its limit')
})

test('F3 after a safety pause it is off until a person has checked', () => {
  const unsafe = auto('unsafe: the work changes AGENTS.md, which steers agents')
  expect(switchOf(run('waiting'), unsafe)).toBe('off')
  expect(switchLabel(run('waiting'), unsafe)).toBe('Off: check its changes')
})

test('a thread that has ended has no switch', () => {
  expect(switchOf(run('done', 'done'), auto('x'))).toBe('over')
  expect(switchLabel(run('failed', 'failed'), auto())).toBe('Ended: failed')
})
