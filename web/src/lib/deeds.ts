// What can be done with a task as it stands, by the names and the keys of the command line.

import type { TaskView } from './wire'

export interface Deed {
  /** The command's name. */
  name: string
  label: string
  key?: string
  /** What has to be typed for it; `optional` may be left empty. */
  text?: { ask: string; optional?: boolean }
  /** It throws something away: what is asked once more. */
  warning?: string
  /** The best thing to do now. */
  isFirst?: boolean
  /** It can be done by its key, but would not help: no button offers it. */
  isUnhelpful?: boolean
}

const START: Deed = { name: 'assign', label: 'Start', key: 's' }
const PIN: Deed = { name: 'pin', label: 'To the front', key: 'p' }
const UNPIN: Deed = { name: 'unpin', label: 'Not in front', key: 'p' }
const EDIT: Deed = { name: 'edit_task', label: 'Edit', key: 'e' }
const SKIP: Deed = { name: 'skip', label: 'Skip', key: 'x' }
const REMOVE: Deed = {
  name: 'remove_task',
  label: 'Remove',
  warning: 'It leaves the board. Its record and its work are kept.',
}
const RETRY: Deed = { name: 'retry', label: 'Retry', key: 'r' }
const RAISE: Deed = { name: 'limit', label: 'Raise the limit', key: '+' }
const SPLIT: Deed = {
  name: 'split',
  label: 'Split',
  key: 'S',
  text: { ask: 'The smaller tasks, one a line' },
}
const ROLL_BACK: Deed = {
  name: 'rollback',
  label: 'Roll back',
  key: 'R',
  warning:
    'What is merged is reverted by a new commit; what is not is thrown away, and kept by a ref. The task is pending again.',
}
const PUT_BACK: Deed = {
  name: 'rollback',
  label: 'Put back',
  key: 'R',
  warning:
    'The task is pending again. What was made for it and not merged is thrown away, and kept by a ref.',
}
const CLEAN: Deed = {
  name: 'clean',
  label: 'Clean up',
  key: 'X',
  warning:
    'Its workspace is removed; what was in it is kept by a ref. The task stays where it stands, and begins anew when it is retried.',
}
const TELL: Deed = {
  name: 'say',
  label: 'Tell',
  key: 't',
  text: { ask: 'It hears this at once, or at its next turn' },
}
const ANSWER: Deed = { name: 'answer', label: 'Answer', key: 'a', text: { ask: 'Your answer' } }
const APPROVE: Deed = { name: 'approve', label: 'Approve', key: 'a' }
const MERGE_AGAIN: Deed = { name: 'approve', label: 'Merge again', key: 'a' }
const REDO: Deed = { name: 'redo', label: 'Redo', key: 'r', text: { ask: 'What should change' } }
const REJECT: Deed = {
  name: 'reject',
  label: 'Reject',
  key: 'x',
  warning: 'Nobody will merge it. The work is kept.',
}
const PAUSE: Deed = { name: 'pause', label: 'Pause' }
const RESUME: Deed = { name: 'resume', label: 'Resume' }
const STOP: Deed = { name: 'stop', label: 'Stop' }

/** What each key does, whatever the task: for the list of keys. */
export const KEYS: Readonly<Record<string, string>> = {
  s: 'Start it',
  p: 'To the front, or back',
  a: 'Answer, approve, or merge again',
  t: 'Tell its agent something',
  r: 'Retry or redo',
  e: 'Edit',
  '+': 'Raise its limits by half',
  S: 'Split it into smaller ones',
  x: 'Skip or reject',
  X: 'Clean its workspace up',
  R: 'Roll back',
}

const first = (deed: Deed): Deed => ({ ...deed, isFirst: true })

export function deedsFor(task: TaskView, runStatus = ''): Deed[] {
  const isHeld = ['paused', 'pausing', 'frozen', 'stopped'].includes(runStatus)
  const pin = task.pinned ? UNPIN : PIN
  switch (task.status) {
    case 'pending':
      if (runStatus === 'stopped') return [first(RESUME)]
      // one whose agent died stands still where nobody drives the board
      return task.remedies.length
        ? [...mending(task.remedies), pin]
        : [first(START), pin, EDIT, SPLIT, SKIP, REMOVE]
    case 'active':
      return [first(TELL), isHeld ? RESUME : PAUSE, STOP]
    case 'waiting':
      return isAsking(task) ? [first(ANSWER), SKIP, STOP] : mending(task.remedies)
    case 'review':
      return [first(APPROVE), REDO, REJECT]
    case 'blocked':
    case 'failed':
    case 'timeout':
      return mending(task.remedies)
    case 'done':
      return [ROLL_BACK]
    case 'skipped':
      return [first(PUT_BACK), EDIT, REMOVE]
    case 'cancelled':
      return [first(RETRY), EDIT]
    default:
      return []
  }
}

const REMEDIES: Readonly<Record<string, Deed>> = {
  approve: MERGE_AGAIN,
  retry: RETRY,
  limit: RAISE,
  edit: EDIT,
  split: SPLIT,
  rollback: ROLL_BACK,
  skip: SKIP,
}

/** For a task that stands still: what may help in its case, and then what can always be done. */
function mending(remedies: readonly string[]): Deed[] {
  const [best, ...others] = remedies.flatMap((name) => REMEDIES[name] ?? [])
  const raise = remedies.includes('limit') ? [] : [{ ...RAISE, isUnhelpful: true }]
  return [...(best ? [first(best)] : []), ...others, CLEAN, REMOVE, ...raise]
}

/** Whether its agent wants to know something; else it is work that could not be merged. */
function isAsking(task: TaskView): boolean {
  const latest = task.attempts.at(-1)
  return !task.lacks_merge && !!latest && !latest.outcome
}

/** How much higher a limit gets each time. */
export const RAISE_BY = 1.5

interface Words {
  command: string
  [argument: string]: unknown
}

/** What a deed is as a command's words. */
export function wordsOf(deed: Deed, text: string): Words {
  switch (deed.name) {
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
      return { command: deed.name, ...(deed.text && text ? { text } : {}) }
  }
}
