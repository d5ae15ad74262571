import { expect, test } from 'vitest'
import { stateWords, switchOf } from './thread'
import type { AutoView, RunView } from './wire'

const run = (status: string, outcome: string | null = null) => ({ status, outcome }) as RunView
const auto = (paused = '', asks: object[] = []) => ({ paused, asks }) as unknown as AutoView

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

test('what is over can’t be switched', () => {
  expect(switchOf(run('done', 'done'), auto('x'))).toBe('over')
  expect(stateWords(run('failed', 'failed'), auto())).toBe('Over: failed')
})
