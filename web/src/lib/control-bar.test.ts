import { expect, test } from 'vitest'
import type { PlanView, RunView } from './api-types'
import {
  agentName,
  barState,
  pauseOrResume,
  pauseText,
  retryCount,
  stepActions,
  stopAction,
} from './control-bar'

const run = (given: Partial<RunView>) =>
  ({ status: 'running', outcome: null, actions: [], ...given }) as unknown as RunView
const plan = (given: Partial<PlanView>) =>
  ({ status: 'running', pauseReason: null, reason: '', ...given }) as unknown as PlanView

test('p12 the state has the words of document 004', () => {
  const shown = (status: string) => {
    const { mark, words } = barState(run({}), plan({ status }))
    return `${mark} ${words}`.trim()
  }
  expect(['running', 'paused', 'pausing', 'stopping'].map(shown)).toEqual([
    '▶ Autopilot Running',
    '⏸ Autopilot Paused',
    'Autopilot Pausing…',
    'Autopilot Stopping…',
  ])
})

test('an interrupted plan is paused, and an ended one has ended', () => {
  expect(barState(run({ status: 'interrupted' }), plan({})).words).toBe('Autopilot Paused')
  expect(barState(run({ outcome: 'done' }), plan({ status: 'idle' })).words).toBe('Autopilot Ended')
})

test('p12 the buttons are those of the actions that the server allows', () => {
  const labels = (...actions: string[]) => {
    const shown = run({ actions })
    return [...stepActions(shown), pauseOrResume(shown), stopAction(shown)].map(
      (action) => action && `${action.mark ?? ''} ${action.label} = ${action.command}`.trim(),
    )
  }
  expect(labels('skip', 'pause', 'stop', 'abort')).toEqual([
    'Skip step = skip',
    '⏸ Pause = pause',
    '⏹ Stop = stop',
  ])
  expect(labels('retry', 'skip', 'resume', 'stop', 'abort')).toEqual([
    'Retry step = retry',
    'Skip step = skip',
    '▶ Resume = resume',
    '⏹ Stop = stop',
  ])
  expect(labels('approve', 'skip', 'pause', 'stop')).toEqual([
    'Approve step = approve',
    'Skip step = skip',
    undefined,
    '⏹ Stop = stop',
  ])
  expect(labels()).toEqual([undefined, undefined])
})

test('p7 an interrupted plan asks whether to resume it', () => {
  expect(pauseText(run({ status: 'interrupted' }), plan({}))).toContain(
    'Resume interrupted session?',
  )
})

test('a pause says why', () => {
  const paused = (pauseReason: string, reason: string, status = 'waiting') =>
    pauseText(run({ status }), plan({ status: 'paused', pauseReason, reason }))
  expect(paused('failed', 'step 1.1 failed: its check fails')).toContain('its check fails')
  expect(paused('limited', 'every agent is at its limit')).toMatch(/limit\. It continues by itself/)
  const resumesAt = new Date(2030, 0, 1, 17, 30).toISOString()
  const limited = plan({ status: 'paused', pauseReason: 'limited', reason: 'full', resumesAt })
  expect(pauseText(run({}), limited)).toBe('Full, until 1 Jan, 17:30. It continues by itself.')
  expect(paused('user', '', 'stopped')).toContain('Stopped')
  expect(pauseText(run({}), plan({}))).toBe('')
})

test('agents are named as people write them', () => {
  expect(['claude', 'gpt', 'codex'].map(agentName)).toEqual(['Claude', 'GPT', 'Codex'])
})

test('the last failure of a step is no retry', () => {
  const counted = (retries: number, mode: string) =>
    retryCount(plan({ retries, config: { mode, errorStrategy: 'retry', maxRetries: 2 } as never }))
  expect([0, 1, 3].map((failures) => counted(failures, 'autopilot'))).toEqual([0, 1, 2])
  expect(counted(1, 'manual')).toBe(0)
})
