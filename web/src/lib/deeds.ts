// What can be done with a task as it stands, by the names and the keys of the command line.

import type { TaskView } from './wire'

export interface Deed {
  /** The command's name. */
  name: string
  label: string
  key?: string
  /** What has to be typed for it; `optional` may be left empty. */
  text?: { ask: string; optional?: boolean }
  /** It throws something away: asked once more. */
  isDrastic?: boolean
  /** The best thing to do now. */
  isFirst?: boolean
}

const START: Deed = { name: 'assign', label: 'Start', key: 's' }
const PIN: Deed = { name: 'pin', label: 'To the front', key: 'p' }
const UNPIN: Deed = { name: 'unpin', label: 'Not in front', key: 'p' }
const EDIT: Deed = { name: 'edit_task', label: 'Edit', key: 'e' }
const SKIP: Deed = { name: 'skip', label: 'Skip', key: 'x' }
const REMOVE: Deed = { name: 'remove_task', label: 'Remove', isDrastic: true }
const RETRY: Deed = { name: 'retry', label: 'Retry', key: 'r' }
const RAISE: Deed = { name: 'limit', label: 'Raise the limit', key: '+' }
const SPLIT: Deed = {
  name: 'split',
  label: 'Split',
  text: { ask: 'The smaller tasks, one a line' },
}
const ROLL_BACK: Deed = { name: 'rollback', label: 'Roll back', key: 'R', isDrastic: true }
const TELL: Deed = {
  name: 'say',
  label: 'Tell',
  key: 't',
  text: { ask: 'It hears this at once, or at its next turn' },
}
const ANSWER: Deed = { name: 'answer', label: 'Answer', key: 'a', text: { ask: 'Your answer' } }
const APPROVE: Deed = { name: 'approve', label: 'Approve', key: 'a' }
const REDO: Deed = { name: 'redo', label: 'Redo', key: 'r', text: { ask: 'What should change' } }
const REJECT: Deed = { name: 'reject', label: 'Reject', key: 'x', isDrastic: true }
const PAUSE: Deed = { name: 'pause', label: 'Pause' }
const RESUME: Deed = { name: 'resume', label: 'Resume' }
const STOP: Deed = { name: 'stop', label: 'Stop' }

const first = (deed: Deed): Deed => ({ ...deed, isFirst: true })

export function deedsFor(task: TaskView, runStatus = ''): Deed[] {
  const isHeld = ['paused', 'pausing', 'frozen', 'stopped'].includes(runStatus)
  switch (task.status) {
    case 'pending':
      return [first(START), task.pinned ? UNPIN : PIN, EDIT, SPLIT, SKIP, REMOVE]
    case 'active':
      return [first(TELL), isHeld ? RESUME : PAUSE, STOP]
    case 'waiting':
      return [first(ANSWER), SKIP, STOP]
    case 'review':
      return [first(APPROVE), REDO, REJECT]
    case 'blocked':
    case 'failed':
      return [first(RETRY), EDIT, RAISE, SPLIT, ROLL_BACK, SKIP, REMOVE]
    case 'timeout':
      return [first(RETRY), RAISE, EDIT, SPLIT, ROLL_BACK, SKIP, REMOVE]
    case 'done':
      return [ROLL_BACK]
    default:
      return []
  }
}

interface Words {
  command: string
  [argument: string]: unknown
}

/** What a deed is as a command's words. */
export function wordsOf(deed: Deed, task: TaskView, text: string): Words {
  switch (deed.name) {
    case 'unpin':
      return { command: 'pin', on: false }
    case 'answer':
      return { command: 'answer', texts: [text] }
    case 'limit':
      return { command: 'limit', iterations: raised(task) }
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

/** Half as many again as it had: its own limit, or what it has used. */
export function raised(task: TaskView): number {
  const had =
    task.iterations ?? Math.max(50, ...(task.attempts ?? []).map(({ tally }) => tally?.turns ?? 0))
  return Math.ceil(had * 1.5)
}
