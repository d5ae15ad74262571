// Settings as the page shows them: in groups, found by words, read from what was filled in.

import type { SettingList } from './wire'

export type Setting = SettingList['settings'][number]

export interface Wanted {
  text: string
  /** Only what differs from its default. */
  onlyOwn: boolean
}

export function isOwn(row: Setting): boolean {
  return row.written || JSON.stringify(row.value) !== JSON.stringify(row.default)
}

/** What has the words in its name comes before what only speaks of them. */
export function fitting(rows: readonly Setting[], { text, onlyOwn }: Wanted): Setting[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isIn = (all: string) => words.every((word) => all.toLowerCase().includes(word))
  const found = rows
    .filter((row) => !onlyOwn || isOwn(row))
    .filter(({ key, description }) => isIn(`${key} ${description}`))
  return [...found.filter(({ key }) => isIn(key)), ...found.filter(({ key }) => !isIn(key))]
}

/** By table: each agent is one of its own. */
export function grouped(rows: readonly Setting[]): [string, Setting[]][] {
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

export function shown(value: unknown): string {
  if (value === null || value === undefined) return 'not set'
  if (typeof value === 'string') return value || '""'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return value.length ? value.join(', ') : 'none'
  return JSON.stringify(value)
}

/** What stands in the field before anything is changed. */
export function asText(form: Setting['form'], value: unknown): string {
  if (value === null || value === undefined) return ''
  if (form === 'lines' && Array.isArray(value)) return value.join('\n')
  if (form === 'tables') return JSON.stringify(value, null, 2)
  return String(value)
}

/** What was filled in, as a value. What is no number stays text: the server says what belongs there. */
export function asValue(form: Setting['form'], text: string): unknown {
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
