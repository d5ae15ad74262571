import { expect, test } from 'vitest'
import { switchLabel, switchOf } from './auto-switch'
import type { AutoView, RunView } from './api-types'

const on = (status: string) =>
  ({ status, outcome: null, actions: ['pause', 'stop'] }) as unknown as RunView
const off = (status: string) =>
  ({ status, outcome: null, actions: ['resume'] }) as unknown as RunView
const over = (outcome: string) => ({ status: outcome, outcome, actions: [] }) as unknown as RunView
const auto = (condition = '', asks: object[] = []) => ({ condition, asks }) as unknown as AutoView

test('a thread is on while it can be paused, and off while it can be resumed', () => {
  expect(switchOf(on('running'))).toBe('on')
  expect(switchOf(off('paused'))).toBe('off')
  expect(switchLabel(on('waiting'), auto('', [{}]))).toBe('On, waiting for your answer')
  expect(switchLabel(off('pausing'), auto())).toBe('Turning off after this turn')
})

test('K6 at its limit it is off, and says so', () => {
  expect(switchLabel(off('waiting'), auto('budget: turns: 2 of 2'))).toBe('Off: at its limit')
})

test('F3 after a safety pause it is off until a person has checked', () => {
  const unsafe = auto('unsafe: the work changes AGENTS.md, which steers agents')
  expect(switchLabel(off('waiting'), unsafe)).toBe('Off: check its changes')
})

test('a thread that has ended has no switch', () => {
  expect(switchOf(over('done'))).toBe('over')
  expect(switchLabel(over('failed'), auto())).toBe('Ended: failed')
})
