// What waits for a person, and the ways to deal with each of them.

import { RAISE_BY } from './deeds'
import type { Waiting } from './wire'

export interface Way {
  label: string
  /** The one key for it, where it is the chosen one of a list. */
  key: string
  command: string
  words?: object
  isFirst?: boolean
}

const OF_COMMANDS: Record<string, Way> = {
  allow: { label: 'Allow', key: 'a', command: 'allow' },
  session: {
    label: 'Allow for this session',
    key: 's',
    command: 'allow',
    words: { session: true },
  },
  deny: { label: 'Deny', key: 'd', command: 'deny' },
  resume: { label: 'Go on', key: 'r', command: 'resume', isFirst: true },
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

/** Whether words are wanted, and not one of a few commands. */
export function wantsWords({ kind }: Waiting): boolean {
  return kind === 'pending' || kind === 'question'
}

/** Whether words may go with it: a reason for a no, or something to begin the next turn with. */
export function takesWords({ kind, options }: Waiting): '' | 'deny' | 'say' {
  if (kind === 'leave') return 'deny'
  return options?.includes('tell') ? 'say' : ''
}

/** The buttons for it. What needs words has a box instead. */
export function ways(waiting: Waiting): Way[] {
  if (wantsWords(waiting)) return []
  return (waiting.options ?? []).flatMap((name) => OF_COMMANDS[name] ?? [])
}

/** What the commands know it by: a question has a name of its own, a limit its run, a task its id. */
export function nameOf({ kind, id, task, run }: Waiting): string {
  if (kind === 'limit') return run
  return kind === 'leave' || kind === 'question' ? id : task || run
}

export interface Asked {
  text: string
  options: { label: string; meaning: string }[]
}

/** The questions to be answered, each with what was proposed. */
export function questionsOf(waiting: Waiting): Asked[] {
  const asked = waiting.questions ?? []
  if (!asked.length) return [{ text: waiting.text, options: [] }]
  return asked.map(({ text, options = [] }) => ({
    text,
    options: options.map(({ label, text: meaning = '' }) => ({ label, meaning })),
  }))
}
