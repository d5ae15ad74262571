// The control bar of a plan, in the words of document 004: its state, and the actions it offers.

import { when } from './format'
import type { PlanView, RunView } from './api-types'

/** The sign of a state or a button. */
export type Mark = '▶' | '⏸' | '⏹'

export interface BarState {
  mark: Mark | ''
  words: string
  tone: 'work' | 'attention' | 'quiet'
}

/** A plan whose process died is paused, whatever it did last. */
export function barState(run: RunView, plan: PlanView): BarState {
  if (run.outcome) return { mark: '', words: 'Autopilot Ended', tone: 'quiet' }
  if (plan.status === 'stopping')
    return { mark: '', words: 'Autopilot Stopping…', tone: 'attention' }
  if (isInterrupted(run)) return { mark: '⏸', words: 'Autopilot Paused', tone: 'attention' }
  switch (plan.status) {
    case 'pausing':
      return { mark: '', words: 'Autopilot Pausing…', tone: 'attention' }
    case 'paused':
      return { mark: '⏸', words: 'Autopilot Paused', tone: 'attention' }
    default:
      return { mark: '▶', words: 'Autopilot Running', tone: 'work' }
  }
}

export function isInterrupted({ status }: RunView): boolean {
  return status === 'interrupted'
}

/** How often the current step was tried again. Its last failure may be followed by no retry. */
export function retryCount({ retries, config }: PlanView): number {
  const isRetried = config.mode === 'autopilot' && config.errorStrategy === 'retry'
  return isRetried ? Math.min(retries, config.maxRetries) : 0
}

const NAMES: Readonly<Record<string, string>> = { gpt: 'GPT' }

/** "Claude" for `claude`. */
export function agentName(agent: string): string {
  return NAMES[agent] ?? agent.charAt(0).toUpperCase() + agent.slice(1)
}

export interface BarAction {
  command: string
  mark?: Mark
  label: string
  report: string
  key: string
}

/** Pause or Resume; neither while a step waits for approval: Approve continues it. */
export function pauseOrResume({ actions }: RunView): BarAction | undefined {
  if (actions.includes('resume'))
    return { command: 'resume', mark: '▶', label: 'Resume', report: 'The plan continues', key: 'p' }
  if (actions.includes('approve') || !actions.includes('pause')) return undefined
  const report = 'The plan pauses at the end of this step'
  return { command: 'pause', mark: '⏸', label: 'Pause', report, key: 'p' }
}

/** Stop ends the current turn; the plan can be resumed. */
export function stopAction({ actions }: RunView): BarAction | undefined {
  if (!actions.includes('stop')) return undefined
  return { command: 'stop', mark: '⏹', label: 'Stop', report: 'Stopped', key: 'S' }
}

const STEP_ACTIONS: readonly BarAction[] = [
  { command: 'approve', label: 'Approve step', report: 'Approved', key: 'a' },
  { command: 'retry', label: 'Retry step', report: 'The step is tried again', key: 'r' },
  { command: 'skip', label: 'Skip step', report: 'The step is skipped', key: 's' },
]

/** What the server allows with the current step. */
export function stepActions({ actions }: RunView): BarAction[] {
  return STEP_ACTIONS.filter(({ command }) => actions.includes(command))
}

/** Why the plan stands still, for the banner; '' while it works. */
export function pauseText(run: RunView, plan: PlanView): string {
  if (run.outcome) return ''
  if (isInterrupted(run)) return 'Resume interrupted session? Nothing that is done is done again.'
  if (plan.status === 'pausing') return 'It pauses at the end of the current step.'
  if (plan.status !== 'paused') return ''
  switch (plan.pauseReason) {
    case 'failed':
    case 'approval':
      return sentence(plan.reason)
    case 'limited':
      return `${sentence(plan.reason)}${until(plan)}. It continues by itself.`
    default:
      return run.status === 'stopped' ? 'Stopped. Resume continues it.' : 'Paused by a person.'
  }
}

function until({ resumesAt }: PlanView): string {
  return resumesAt ? `, until ${when(resumesAt)}` : ''
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
