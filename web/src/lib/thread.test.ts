import { expect, test } from 'vitest'
import { stateWords, switchOf } from './thread'
import type { AutoView, RunView } from './wire'

const run = (status: string, outcome: string | null = null) => ({ status, outcome }) as RunView
const auto = (condition = '', asks: object[] = []) => ({ condition, asks }) as unknown as AutoView

test('a thread is on while nothing holds it', () => {
  expect(switchOf(run('running'), auto())).toBe('on')
  expect(switchOf(run('waiting'), auto())).toBe('on')
  expect(stateWords(run('waiting'), auto('', [{}]))).toBe('On, and asks you')
})

test('a person, an Allstop, a crash or a decision turns it off', () => {
  for (const status of ['paused', 'pausing', 'stopped', 'frozen', 'interrupted'])
    expect(switchOf(run(status), auto())).toBe('off')
  expect(switchOf(run('waiting'), auto('soft stop: no progress'))).toBe('off')
  expect(stateWords(run('pausing'), auto())).toBe('Going off after this turn')
})

test('K6 at its limit it is off, and says so', () => {
  expect(switchOf(run('waiting'), auto('budget: turns: 2 of 2'))).toBe('off')
  expect(stateWords(run('waiting'), auto('budget: turns: 2 of 2'))).toBe('Off: at its limit')
})

test('F3 where it is unsafe to go on it is off until somebody has looked', () => {
  const unsafe = auto('unsafe: the work changes AGENTS.md, which steers agents')
  expect(switchOf(run('waiting'), unsafe)).toBe('off')
  expect(stateWords(run('waiting'), unsafe)).toBe('Off: wants your look')
})

test('what is over can’t be switched', () => {
  expect(switchOf(run('done', 'done'), auto('x'))).toBe('over')
  expect(stateWords(run('failed', 'failed'), auto())).toBe('Over: failed')
})
