// A task as it is written into a form, and what of it has become another.

import type { TaskView } from './wire'

/** What stands in the form's fields. */
export interface Fields {
  title: string
  body: string
  tags: string
  needs: string
  priority: string
  agent: string
  operation: string
}

export interface Words {
  title: string
  body: string
  tags: string[]
  needs: string[]
  priority: number
  agent: string | null
  operation: string
}

/** As a browser's fields give them back where nobody types: these know no other line ends. */
export function fieldsOf(task: TaskView | undefined): Fields {
  return {
    title: (task?.title ?? '').replaceAll(/[\r\n]/g, ''),
    body: (task?.body ?? '').replaceAll('\r\n', '\n'),
    tags: task?.tags.join(', ') ?? '',
    needs: task?.needs.join(', ') ?? '',
    priority: String(task?.priority ?? 0),
    agent: task?.agent ?? '',
    operation: (task?.operation ?? '').replaceAll(/[\r\n]/g, ''),
  }
}

export function wordsIn(fields: Fields): Words {
  return {
    title: fields.title.trim(),
    body: fields.body,
    tags: list(fields.tags),
    needs: list(fields.needs),
    priority: Number(fields.priority || 0),
    agent: fields.agent || null,
    operation: fields.operation.trim(),
  }
}

/** Only what the person has changed: the rest may not be what a form can hold, or be newer. */
export function changes(before: Fields, after: Fields): Partial<Words> {
  const changed = Object.entries(wordsIn(after)).filter(
    ([name]) => before[name as keyof Fields] !== after[name as keyof Fields],
  )
  return Object.fromEntries(changed)
}

function list(words: string): string[] {
  return words.split(/[\s,]+/).filter(Boolean)
}
