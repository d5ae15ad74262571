// What waits for a person, and the ways to deal with each of them.

import type { Waiting } from './wire'

export interface Way {
  label: string
  command: string
  words?: object
  isFirst?: boolean
}

const OF_COMMANDS: Record<string, Way> = {
  allow: { label: 'Allow', command: 'allow', isFirst: true },
  session: { label: 'Allow from now on', command: 'allow', words: { session: true } },
  deny: { label: 'Deny', command: 'deny' },
  resume: { label: 'Go on', command: 'resume', isFirst: true },
  abort: { label: 'End it', command: 'abort' },
  retry: { label: 'Retry', command: 'retry', isFirst: true },
  skip: { label: 'Skip', command: 'skip' },
  approve: { label: 'Approve', command: 'approve', isFirst: true },
  reject: { label: 'Reject', command: 'reject' },
}

/** Whether words are wanted, and not one of a few commands. */
export function wantsWords({ kind }: Waiting): boolean {
  return kind === 'pending' || kind === 'question'
}

/** The buttons for it. What needs words has a box instead. */
export function ways(waiting: Waiting): Way[] {
  if (wantsWords(waiting)) return []
  return (waiting.options ?? []).flatMap((name) => OF_COMMANDS[name] ?? [])
}

/** What the commands know it by: a question has a name of its own, a task its id. */
export function nameOf({ kind, id, task, run }: Waiting): string {
  return kind === 'leave' || kind === 'question' ? id : task || run
}

/** The questions to be answered, each with what was proposed. */
export function questionsOf(waiting: Waiting): { text: string; options: string[] }[] {
  const asked = waiting.questions ?? []
  if (!asked.length) return [{ text: waiting.text, options: [] }]
  return asked.map(({ text, options = [] }) => ({
    text,
    options: options.map(({ label }) => label),
  }))
}
