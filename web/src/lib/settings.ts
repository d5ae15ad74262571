// Settings: search, groups, and values as text and back.

import { essentialOrder, isAutopilot, isEssential, settingLabel } from './setting-labels'
import type { SettingList } from './api-types'

export type Setting = SettingList['settings'][number]

export interface SettingFilter {
  text: string
  /** Only those that differ from their default. */
  onlyChanged: boolean
}

/** Whether it is set in a file or differs from its default. */
export function isChanged(row: Setting): boolean {
  return row.written || JSON.stringify(row.value) !== JSON.stringify(row.default)
}

/** Settings that match; those with the words in their name come first. */
export function matchingSettings(
  rows: readonly Setting[],
  { text, onlyChanged }: SettingFilter,
): Setting[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isIn = (all: string) => words.every((word) => all.toLowerCase().includes(word))
  const found = rows
    .filter((row) => !onlyChanged || isChanged(row))
    .filter(({ key, description }) => isIn(`${key} ${settingLabel(key)} ${description}`))
  return [...found.filter(({ key }) => isIn(key)), ...found.filter(({ key }) => !isIn(key))]
}

/** The settings that most people change. */
export function essentials(rows: readonly Setting[]): Setting[] {
  return rows
    .filter(({ key }) => isEssential(key))
    .toSorted((a, b) => essentialOrder(a.key) - essentialOrder(b.key))
}

/** The settings of plans. */
export function autopilotSettings(rows: readonly Setting[]): Setting[] {
  return rows.filter(({ key }) => isAutopilot(key))
}

/** By TOML table; each agent is a table of its own. */
export function groupByTable(rows: readonly Setting[]): [string, Setting[]][] {
  const groups = new Map<string, Setting[]>()
  for (const row of rows) {
    const name = tableOf(row.key)
    const group = groups.get(name)
    if (group) group.push(row)
    else groups.set(name, [row])
  }
  return [...groups]
}

function tableOf(key: string): string {
  return /^agents\.(?:"(?:[^"\\]|\\.)*"|[^."]+)/.exec(key)?.[0] ?? key.split('.', 1)[0]!
}

export function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'not set'
  if (typeof value === 'string') return value || '""'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return value.length ? value.join(', ') : 'none'
  if (Array.isArray(value) && value.every(isNamed))
    return value.map(({ name, run }) => (name && run ? `${name}: ${run}` : name || run)).join(', ')
  return JSON.stringify(value)
}

/** A check: its name and its command say enough in a list. */
function isNamed(value: unknown): value is { name?: string; run: string } {
  return typeof value === 'object' && value !== null && 'run' in value
}

/** The initial text of the field. */
export function fieldText(form: Setting['form'], value: unknown): string {
  if (value === null || value === undefined) return ''
  if (form === 'lines' && Array.isArray(value)) return value.join('\n')
  if (form === 'tables') return JSON.stringify(value, null, 2)
  return String(value)
}

/** The value in the field. Text in a number field stays text: the server explains the error. */
export function fieldValue(form: Setting['form'], text: string): unknown {
  switch (form) {
    case 'switch':
      return text === 'true'
    case 'number':
      return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
    case 'lines':
      return text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean)
    case 'tables':
      return JSON.parse(text)
    default:
      return text
  }
}
