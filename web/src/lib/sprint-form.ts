// The form for a new sprint: what it would start, and the request for it.

import type { SettingList, TaskView } from './api-types'

export type TargetType = 'count' | 'duration' | 'until_time' | 'no_ready'

export const TARGETS: readonly { type: TargetType; label: string }[] = [
  { type: 'count', label: 'A number of tasks' },
  { type: 'duration', label: 'Hours' },
  { type: 'until_time', label: 'A time' },
  { type: 'no_ready', label: 'All that is ready' },
]

export interface SprintFilters {
  include_operations: string[]
  exclude_operations: string[]
  include_tags: string[]
  exclude_tags: string[]
}

export interface SprintDraft {
  type: TargetType
  /** A number of tasks, hours, or a time; as it was typed. */
  value: string
  filters: SprintFilters
  checkpoint: boolean
  pauseOnError: boolean
  pauseOnStuck: boolean
  /** Undefined: as `[review] mode` says. */
  batchReview: boolean | undefined
  budget: string
  slots: string
  agent: string
}

/** A draft by the settings of `[sprint]`. */
export function draftBy({ settings }: Pick<SettingList, 'settings'>): SprintDraft {
  const values = new Map(settings.map(({ key, value }) => [key, value]))
  const list = (key: string) => [...((values.get(`sprint.filters.${key}`) as string[]) ?? [])]
  const value = values.get('sprint.target.value')
  const review = values.get('sprint.batch_review')
  return {
    type: (values.get('sprint.target.type') as TargetType | undefined) ?? 'no_ready',
    value: value == null ? '' : String(value),
    filters: {
      include_operations: list('include_operations'),
      exclude_operations: list('exclude_operations'),
      include_tags: list('include_tags'),
      exclude_tags: list('exclude_tags'),
    },
    checkpoint: values.get('sprint.checkpoint_before') !== false,
    pauseOnError: values.get('sprint.pause_on_error') === true,
    pauseOnStuck: values.get('sprint.pause_on_stuck') === true,
    batchReview: typeof review === 'boolean' ? review : undefined,
    budget: '',
    slots: '',
    agent: '',
  }
}

/** Whether the filters take a task, as on the server. */
export function takes(filters: SprintFilters, { operation, tags }: TaskView): boolean {
  const { include_operations, exclude_operations, include_tags, exclude_tags } = filters
  if (include_operations.length && !include_operations.includes(operation)) return false
  if (include_tags.length && !tags.some((tag) => include_tags.includes(tag))) return false
  return !exclude_operations.includes(operation) && !tags.some((tag) => exclude_tags.includes(tag))
}

export interface Matches {
  pending: number
  /** Those that it could start now, in their order. */
  ready: TaskView[]
  /** Those that wait for other tasks. */
  waiting: TaskView[]
  /** Matching tasks that only a person starts again. */
  held: number
}

/** The pending tasks that a sprint would take. */
export function matchesOf(tasks: readonly TaskView[], filters: SprintFilters): Matches {
  const pending = tasks.filter(({ status }) => status === 'pending')
  const taken = pending.filter((task) => takes(filters, task))
  const age = new Map(tasks.map(({ id }, place) => [id, place]))
  return {
    pending: pending.length,
    ready: taken
      .filter(({ ready }) => ready)
      .toSorted(
        (a, b) =>
          Number(b.assigned) - Number(a.assigned) ||
          b.pin - a.pin ||
          b.score - a.score ||
          b.priority - a.priority ||
          age.get(a.id)! - age.get(b.id)!,
      ),
    waiting: taken.filter(({ waits_for, held }) => waits_for.length && !held),
    held: taken.filter(({ held }) => held).length,
  }
}

/** How many pending tasks have each value, the most first. */
export function countsOf(
  tasks: readonly TaskView[],
  valuesOf: (task: TaskView) => readonly string[],
): { name: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const task of tasks) {
    if (task.status !== 'pending') continue
    for (const name of valuesOf(task)) if (name) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .toSorted((a, b) => b.count - a.count || a.name.localeCompare(b.name))
}

/** The value of the target as the server expects it; undefined if it isn't usable. */
export function targetValue({ type, value }: Pick<SprintDraft, 'type' | 'value'>) {
  const text = value.trim()
  const number = Number(text)
  switch (type) {
    case 'count':
      return Number.isInteger(number) && number > 0 ? number : undefined
    case 'duration':
      return number > 0 ? number : undefined
    case 'until_time':
      return text || undefined
    case 'no_ready':
      return null
  }
}

/** The body of `POST /runs`; undefined while the target isn't usable. */
export function requestOf(draft: SprintDraft) {
  const value = targetValue(draft)
  if (value === undefined) return undefined
  return {
    kind: 'sprint',
    target: { type: draft.type, value },
    filters: draft.filters,
    checkpoint_before: draft.checkpoint,
    pause_on_error: draft.pauseOnError,
    pause_on_stuck: draft.pauseOnStuck,
    ...(draft.batchReview === undefined ? {} : { batch_review: draft.batchReview }),
    ...(draft.budget.trim() ? { budget_usd: Number(draft.budget) } : {}),
    ...(draft.slots.trim() ? { parallel: Number(draft.slots) } : {}),
    ...(draft.agent ? { agent: draft.agent } : {}),
  }
}

/** The list with a name added, or without it. */
export function toggled(names: readonly string[], name: string): string[] {
  return names.includes(name) ? names.filter((each) => each !== name) : [...names, name]
}
