// Inbox items: the buttons that the server offers for each, and the questions to answer.

import { RAISE_BY } from './actions'
import type { Waiting } from './api-types'

export interface InboxAction {
  label: string
  /** The key for it while the item is selected. */
  key: string
  command: string
  words?: object
  isFirst?: boolean
}

/** By the server's name of the option. */
const ACTIONS: Record<string, InboxAction> = {
  allow: { label: 'Allow', key: 'a', command: 'allow' },
  session: {
    label: 'Allow for this session',
    key: 's',
    command: 'allow',
    words: { session: true },
  },
  deny: { label: 'Deny', key: 'd', command: 'deny' },
  resume_sprint: {
    label: 'Continue the sprint',
    key: 'r',
    command: 'resume_sprint',
    isFirst: true,
  },
  resume: { label: 'Continue', key: 'r', command: 'resume', isFirst: true },
  limit: {
    label: 'Raise the limit',
    key: '+',
    command: 'limit',
    words: { times: RAISE_BY },
    isFirst: true,
  },
  abort: { label: 'End it', key: 'x', command: 'abort' },
  retry: { label: 'Retry', key: 'r', command: 'retry', isFirst: true },
  skip: { label: 'Skip', key: 'x', command: 'skip' },
  approve: { label: 'Approve', key: 'a', command: 'approve', isFirst: true },
  reject: { label: 'Reject', key: 'x', command: 'reject' },
}

/** Whether the item needs a written answer instead of a button. */
export function needsAnswer({ kind }: Waiting): boolean {
  return kind === 'pending' || kind === 'question'
}

/** Whether a text may be sent with it: a reason for Deny, or a message for the next turn. */
export function optionalText({ kind, options }: Waiting): '' | 'deny' | 'say' {
  if (kind === 'leave') return 'deny'
  return options?.includes('tell') ? 'say' : ''
}

/** The buttons of an item. One that needs an answer has a text box instead. */
export function inboxActions(waiting: Waiting): InboxAction[] {
  if (needsAnswer(waiting)) return []
  return (waiting.options ?? []).flatMap((name) => ACTIONS[name] ?? [])
}

/** The name by which commands address it: a question's id, a run at its limit, or a task. */
export function commandTarget({ kind, id, task, run }: Waiting): string {
  if (kind === 'limit') return run
  return kind === 'leave' || kind === 'question' ? id : task || run
}

export interface InboxQuestion {
  text: string
  options: { label: string; meaning: string }[]
}

/** The questions to answer, each with the options that the agent proposes. */
export function questionsOf(waiting: Waiting): InboxQuestion[] {
  const questions = waiting.questions ?? []
  if (!questions.length) return [{ text: waiting.text, options: [] }]
  return questions.map(({ text, options = [] }) => ({
    text,
    options: options.map(({ label, text: meaning = '' }) => ({ label, meaning })),
  }))
}
