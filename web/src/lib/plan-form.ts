// The form for a new plan: the format of a text, and what the server understood of it.

import { count } from './format'
import type { PlanCheck } from './api-types'

export type PlanFormat = 'markdown' | 'json' | 'yaml'

const ENDINGS: Readonly<Record<string, PlanFormat>> = {
  md: 'markdown',
  markdown: 'markdown',
  json: 'json',
  yaml: 'yaml',
  yml: 'yaml',
}

/** The format of an uploaded file: by its ending, else by its first character. */
export function formatOf(name: string, text: string): PlanFormat {
  const ending = name.split('.').at(-1)!.toLowerCase()
  return ENDINGS[ending] ?? (text.trimStart().startsWith('{') ? 'json' : 'markdown')
}

/** "parser" for "plans/parser.md". */
export function nameOf(file: string): string {
  return file.split(/[/\\]/).at(-1)!.split('.', 1)[0]!
}

/** "2 phases, 5 steps". */
export function understood({ plan: { phases = [] } }: PlanCheck): string {
  const steps = phases.reduce((sum, phase) => sum + (phase.steps?.length ?? 0), 0)
  return `${count(phases.length, 'phase')}, ${count(steps, 'step')}`
}
