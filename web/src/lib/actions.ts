// How the actions on a task or a run look: label, key, prompt, warning.
//
// The server lists the commands that a task or a run accepts now, the best first.

import type { RunView, TaskView } from './api-types'
import { oneLine } from './one-line'

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
  /** It is not offered as the best action. */
  isNeverFirst?: boolean
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
  isNeverFirst: true,
  warning:
    'Merged work is reverted by a new commit. Unmerged work is discarded; a git ref keeps it. The task becomes pending again.',
}
const RESTORE = {
  label: 'Restore',
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
const PAUSE: Action = { name: 'pause', label: 'Pause', isNeverFirst: true }
const RESUME: Action = { name: 'resume', label: 'Resume' }
const STOP: Action = { name: 'stop', label: 'Stop', isNeverFirst: true }
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

const ACTIONS = new Map(
  [
    START, PIN, EDIT, SKIP, REMOVE, RETRY, RAISE, SPLIT, ROLL_BACK, CLEAN, TELL, ANSWER, APPROVE,
    REDO, REJECT, PAUSE, RESUME, STOP, ABORT,
  ].map((action) => [action.name, action]),
) // prettier-ignore

/** The actions with these names, the first of them marked as the best. */
function named(names: readonly string[]): Action[] {
  return names
    .flatMap((name) => ACTIONS.get(name) ?? [])
    .map((action, at) => (at || action.isNeverFirst ? action : { ...action, isFirst: true }))
}

/** What a person can do with a task and its latest run. */
export function taskActions(task: TaskView, run?: RunView): Action[] {
  return named([...task.actions, ...(run?.actions ?? [])]).map((action) => {
    switch (action.name) {
      case 'pin':
        return task.pinned ? UNPIN : action
      case 'approve':
        if (task.lacks_merge) return { ...action, label: 'Merge again' }
        return task.to_confirm
          ? { ...action, warning: `Findings: ${oneLine(task.to_confirm)}` }
          : action
      case 'rollback':
        return task.status === 'skipped' ? { ...action, ...RESTORE, isFirst: true } : action
      case 'limit':
        return { ...action, isUnhelpful: !task.remedies.includes('limit') }
      default:
        return action
    }
  })
}

/** Whether a changed task can be saved and retried in one go. */
export function canRetryWithChanges(task: TaskView): boolean {
  return task.actions.includes('retry') && task.actions.includes('edit_task')
}

/** The label of the button that sends comments on a task's changes; `''` while no agent reads them. */
export function commentLabel({ actions }: TaskView): string {
  if (!actions.includes('comment')) return ''
  if (actions.includes('redo')) return 'Send back'
  return actions.includes('retry') ? 'Retry with comments' : 'Send to the agent'
}

/** What a person can do with a run of any kind. */
export function runActions(run: RunView): Action[] {
  return named(run.actions)
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
    case 'approve':
      return { command: 'approve', ...(action.warning ? { confirmed: true } : {}) }
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
