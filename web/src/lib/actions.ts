// The actions that are legal now on a task, a run or the board, with their labels and keys.
//
// All rules about legality are in this file, so that a list from the server can replace them.

import type { AutoView, RunView, TaskView } from './api-types'

export interface Action {
  /** The name of the command. */
  name: string
  label: string
  key?: string
  /** The text that has to be typed; an `optional` one may be left empty. */
  text?: { prompt: string; optional?: boolean }
  /** The action discards something: a dialog shows this and asks for confirmation. */
  warning?: string
  /** The best action now. */
  isFirst?: boolean
  /** The key works, but the action would not help: no button offers it. */
  isUnhelpful?: boolean
}

const START: Action = { name: 'assign', label: 'Start', key: 's' }
const PIN: Action = { name: 'pin', label: 'Pin to top', key: 'p' }
const UNPIN: Action = { name: 'unpin', label: 'Unpin', key: 'p' }
const EDIT: Action = { name: 'edit_task', label: 'Edit', key: 'e' }
const SKIP: Action = { name: 'skip', label: 'Skip', key: 'x' }
const REMOVE: Action = {
  name: 'remove_task',
  label: 'Remove',
  warning: 'The task leaves the board. Its log and its work are kept.',
}
const RETRY: Action = { name: 'retry', label: 'Retry', key: 'r' }
const RAISE: Action = { name: 'limit', label: 'Raise the limit', key: '+' }
const SPLIT: Action = {
  name: 'split',
  label: 'Split',
  key: 'S',
  text: { prompt: 'The smaller tasks, one per line' },
}
const ROLL_BACK: Action = {
  name: 'rollback',
  label: 'Roll back',
  key: 'R',
  warning:
    'Merged work is reverted by a new commit. Unmerged work is discarded; a git ref keeps it. The task becomes pending again.',
}
const RESTORE: Action = {
  name: 'rollback',
  label: 'Restore',
  key: 'R',
  warning: 'The task becomes pending again. Its unmerged work is discarded; a git ref keeps it.',
}
const CLEAN: Action = {
  name: 'clean',
  label: 'Clean up',
  key: 'X',
  warning:
    'Its workspace is removed; a git ref keeps the work. The status of the task stays, and a retry starts from the beginning.',
}
const TELL: Action = {
  name: 'say',
  label: 'Tell agent',
  key: 't',
  text: { prompt: 'The agent reads this at once, or at its next turn' },
}
const ANSWER: Action = {
  name: 'answer',
  label: 'Answer',
  key: 'a',
  text: { prompt: 'Your answer' },
}
const APPROVE: Action = { name: 'approve', label: 'Approve', key: 'a' }
const MERGE_AGAIN: Action = { name: 'approve', label: 'Merge again', key: 'a' }
const REDO: Action = {
  name: 'redo',
  label: 'Redo',
  key: 'r',
  text: { prompt: 'What should change?' },
}
const REJECT: Action = {
  name: 'reject',
  label: 'Reject',
  key: 'x',
  warning: 'The work will not be merged. It is kept.',
}
const PAUSE: Action = { name: 'pause', label: 'Pause' }
const RESUME: Action = { name: 'resume', label: 'Resume' }
const STOP: Action = { name: 'stop', label: 'Stop' }
const ABORT: Action = {
  name: 'abort',
  label: 'Abort',
  warning: 'It ends for good and can’t be resumed. Its work is kept in its clone.',
}

/** What each key does, for the list of keys; it depends on the task which of them are legal. */
export const KEYS: Readonly<Record<string, string>> = {
  s: 'Start it',
  p: 'Pin to top, or unpin',
  a: 'Answer, approve, or merge again',
  t: 'Tell its agent something',
  r: 'Retry or redo',
  e: 'Edit',
  '+': 'Raise its limits by half',
  S: 'Split it into smaller ones',
  x: 'Skip or reject',
  X: 'Clean up its workspace',
  R: 'Roll back or restore',
}

const HELD = ['paused', 'pausing', 'frozen', 'stopped']

const first = (action: Action): Action => ({ ...action, isFirst: true })

/** What a person can do with a task. */
export function taskActions(task: TaskView, runStatus = ''): Action[] {
  const pin = task.pinned ? UNPIN : PIN
  switch (task.status) {
    case 'pending':
      if (runStatus === 'stopped') return [first(RESUME)]
      // After its agent died a task has remedies, and waits until somebody starts the board.
      return task.remedies.length
        ? [...remedyActions(task.remedies), pin]
        : [first(START), pin, EDIT, SPLIT, SKIP, REMOVE]
    case 'active':
      return [first(TELL), HELD.includes(runStatus) ? RESUME : PAUSE, STOP]
    case 'waiting':
      return isAsking(task) ? [first(ANSWER), SKIP, STOP] : remedyActions(task.remedies)
    case 'review':
      return [first(APPROVE), REDO, REJECT]
    case 'blocked':
    case 'failed':
    case 'timeout':
      return remedyActions(task.remedies)
    case 'done':
      return [ROLL_BACK]
    case 'skipped':
      return [first(RESTORE), EDIT, REMOVE]
    case 'cancelled':
      return [first(RETRY), EDIT]
    default:
      return []
  }
}

const REMEDIES: Readonly<Record<string, Action>> = {
  approve: MERGE_AGAIN,
  retry: RETRY,
  limit: RAISE,
  edit: EDIT,
  split: SPLIT,
  rollback: ROLL_BACK,
  skip: SKIP,
}

/** For a task that stands still: first the remedies that the server names, then the rest. */
function remedyActions(remedies: readonly string[]): Action[] {
  const [best, ...others] = remedies.flatMap((name) => REMEDIES[name] ?? [])
  const raise = remedies.includes('limit') ? [] : [{ ...RAISE, isUnhelpful: true }]
  return [...(best ? [first(best)] : []), ...others, CLEAN, REMOVE, ...raise]
}

/** Whether its agent asked a question; else its work could not be merged. */
function isAsking(task: TaskView): boolean {
  const latest = task.attempts.at(-1)
  return !task.lacks_merge && !!latest && !latest.outcome
}

/** Whether a changed task can be saved and retried in one go. */
export function canRetryWithChanges({ status }: TaskView): boolean {
  return ['failed', 'timeout', 'blocked'].includes(status)
}

/** The label of the button that sends comments on a task's changes; `''` while no agent reads them. */
export function commentLabel(status: string): string {
  if (status === 'review') return 'Send back'
  if (status === 'active' || status === 'waiting') return 'Send to the agent'
  return ['blocked', 'failed', 'timeout'].includes(status) ? 'Retry with comments' : ''
}

/** What a person can do with a run of any kind. */
export function runActions(run: RunView): Action[] {
  if (run.outcome) return []
  const isHeld = HELD.includes(run.status) || run.status === 'interrupted'
  return isHeld ? [first(RESUME)] : [PAUSE, STOP]
}

/** What a person can do with a thread of full auto. */
export function threadActions(run: RunView, auto: AutoView): Action[] {
  if (run.outcome) return []
  const isHeld = HELD.includes(run.status) || run.status === 'interrupted'
  if (!isHeld && !auto.condition) return [PAUSE, STOP, ABORT]
  return run.status === 'pausing' ? [RESUME, STOP, ABORT] : [RESUME, ABORT]
}

/** What a person can do with the board. */
export function boardAction(
  phase: string,
  tasks: readonly TaskView[],
  isStopped: boolean,
): 'pause' | 'resume' | 'start' | undefined {
  if (phase === 'running') return 'pause'
  if (isStopped) return undefined
  if (phase === 'paused' || phase === 'pausing') return 'resume'
  return tasks.some(({ ready }) => ready) ? 'start' : undefined
}

/** The factor by which a limit is raised each time. */
export const RAISE_BY = 1.5

interface Command {
  command: string
  [argument: string]: unknown
}

/** The command that an action sends. */
export function commandFor(action: Action, text: string): Command {
  switch (action.name) {
    case 'unpin':
      return { command: 'pin', on: false }
    case 'answer':
      return { command: 'answer', texts: [text] }
    case 'limit':
      return { command: 'limit', times: RAISE_BY }
    case 'split':
      return {
        command: 'split',
        titles: text
          .split('\n')
          .map((line) => line.trim())
          .filter(Boolean),
      }
    default:
      return { command: action.name, ...(action.text && text ? { text } : {}) }
  }
}
