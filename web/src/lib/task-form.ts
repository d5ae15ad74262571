// The form of a task: its fields, and the values that were changed.

import type { TaskView } from './api-types'

export interface TaskFields {
  title: string
  body: string
  tags: string
  needs: string
  priority: string
  agent: string
  operation: string
  /** One in each line, since a name may have spaces and commas. */
  may_change: string
}

/** The values that a command sends. */
export interface TaskValues {
  title: string
  body: string
  tags: string[]
  needs: string[]
  priority: number
  agent: string | null
  operation: string
  may_change: string[]
}

/** Browsers normalize line ends in fields; without this an untouched field would seem changed. */
export function fieldsOf(task: TaskView | undefined): TaskFields {
  return {
    title: (task?.title ?? '').replaceAll(/[\r\n]/g, ''),
    body: (task?.body ?? '').replaceAll('\r\n', '\n'),
    tags: task?.tags.join(', ') ?? '',
    needs: task?.needs.join(', ') ?? '',
    priority: String(task?.priority ?? 0),
    agent: task?.agent ?? '',
    operation: (task?.operation ?? '').replaceAll(/[\r\n]/g, ''),
    may_change: task?.may_change?.join('\n') ?? '',
  }
}

export function valuesIn(fields: TaskFields): TaskValues {
  return {
    title: fields.title.trim(),
    body: fields.body,
    tags: list(fields.tags),
    needs: list(fields.needs),
    priority: Number(fields.priority || 0),
    agent: fields.agent || null,
    operation: fields.operation.trim(),
    may_change: lines(fields.may_change),
  }
}

/** Only the values that the person has changed: the others may have changed on the server. */
export function changes(before: TaskFields, after: TaskFields): Partial<TaskValues> {
  const changed = Object.entries(valuesIn(after)).filter(
    ([name]) => before[name as keyof TaskFields] !== after[name as keyof TaskFields],
  )
  return Object.fromEntries(changed)
}

export function lines(text: string): string[] {
  return text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter(Boolean)
}

function list(words: string): string[] {
  return words.split(/[\s,]+/).filter(Boolean)
}
