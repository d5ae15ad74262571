// Log lines from the events of a run, and the full text behind a line.

import type { CheckFailure } from './gate-checks'
import type { LogLine, RecordList } from './api-types'

export type RunEvent = RecordList['events'][number]

export function logLines(records: readonly RunEvent[]): LogLine[] {
  return records.flatMap(({ run, seq, at, type, lines }) =>
    lines.map((line) => ({ run, seq, at, type, ...splitMark(line) })),
  )
}

/** Splits "✓ 3 of 3 passed": the mark is one character, then a space. */
function splitMark(line: string): { mark: string; text: string } {
  const [mark = ' '] = line
  return { mark, text: line.slice(mark.length + 1) }
}

/** One text of an event: written by an agent or a person, or the output of a program. */
export interface LogDetail {
  title: string
  text: string
  is: 'words' | 'output'
}

type Fields = Record<string, unknown>

const OUTPUT_KINDS = new Set(['command', 'diff', 'check', 'file', 'did'])

/** All texts of an event, in order. */
export function detailsOf({ event, lines }: RunEvent): LogDetail[] {
  const found = [...ofItems(event), ...ofResult(event), ...ofWords(event)]
  if (found.length) return found
  return lines.map((line) => ({ title: '', text: splitMark(line).text, is: 'words' as const }))
}

function ofItems(event: Fields): LogDetail[] {
  return list(event.items).map(({ kind, text }) => ({
    title: words(kind),
    text: words(text),
    is: OUTPUT_KINDS.has(words(kind)) ? ('output' as const) : ('words' as const),
  }))
}

function ofResult(event: Fields): LogDetail[] {
  const result = fields(event.result)
  const text = words(result.text) || words(result.message)
  const isFailure = result.result === 'failed'
  const message = text ? [{ title: '', text, is: isFailure ? 'output' : 'words' } as const] : []
  return [...message, ...list(result.results).map(ofCheck)]
}

function ofCheck(check: Fields): LogDetail {
  const { name, verdict, output } = read(check)
  return { title: `${name}: ${verdict}`, text: output, is: 'output' }
}

function ofWords(event: Fields): LogDetail[] {
  const command = fields(event.command)
  const ask = fields(event.ask)
  const texts = [command.text, command.message, ask.text, event.note]
  return texts
    .map(words)
    .filter(Boolean)
    .map((text) => ({ title: '', text, is: 'words' as const }))
}

/** The checks that failed in the last gate among these events; without one, the earlier ones. */
export function failedChecks(
  records: readonly RunEvent[],
  earlier: readonly CheckFailure[] = [],
): readonly CheckFailure[] {
  const last = records.findLast(({ event }) => fields(event.result).result === 'checks_done')
  if (!last) return earlier
  return list(fields(last.event.result).results)
    .filter(({ passed }) => passed !== true)
    .map(read)
}

function read(check: Fields): CheckFailure {
  const seconds = Number(check.seconds ?? 0)
  const verdict =
    check.passed === true
      ? 'passed'
      : check.timed_out === true
        ? 'timed out'
        : check.code === undefined || check.code === null
          ? 'could not be run'
          : `exit code ${words(check.code)}`
  return { name: words(check.name), verdict, seconds, output: words(check.output) }
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fields) : []
}

function words(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : ''
}
