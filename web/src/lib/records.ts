// A run's record, as lines of a log, and the whole text behind a line.

import type { CheckFailure } from './gate'
import type { LogLine, RecordList } from './wire'

export type Recorded = RecordList['events'][number]

export function logOf(records: readonly Recorded[]): LogLine[] {
  return records.flatMap(({ run, seq, at, type, lines }) =>
    lines.map((line) => ({ run, seq, at, type, ...parted(line) })),
  )
}

/** "✓ 3 of 3 passed": the mark is one letter, then a space. */
function parted(line: string): { mark: string; text: string } {
  const [mark = ' '] = line
  return { mark, text: line.slice(mark.length + 1) }
}

/** What is behind a line: words of an agent or a person, or output of a program. */
export interface Behind {
  title: string
  text: string
  is: 'words' | 'output'
}

type Fields = Record<string, unknown>

const OUTPUT_KINDS = new Set(['command', 'diff', 'check', 'file', 'did'])

/** Everything that an event says, in the order in which it says it. */
export function behind({ event, lines }: Recorded): Behind[] {
  const found = [...ofItems(event), ...ofResult(event), ...ofWords(event)]
  if (found.length) return found
  return lines.map((line) => ({ title: '', text: parted(line).text, is: 'words' as const }))
}

function ofItems(event: Fields): Behind[] {
  return list(event.items).map(({ kind, text }) => ({
    title: words(kind),
    text: words(text),
    is: OUTPUT_KINDS.has(words(kind)) ? ('output' as const) : ('words' as const),
  }))
}

function ofResult(event: Fields): Behind[] {
  const result = fields(event.result)
  const said = words(result.text) || words(result.message)
  const isFailure = result.result === 'failed'
  const told = said ? [{ title: '', text: said, is: isFailure ? 'output' : 'words' } as const] : []
  return [...told, ...list(result.results).map(ofCheck)]
}

function ofCheck(check: Fields): Behind {
  const { name, verdict, output } = read(check)
  return { title: `${name}: ${verdict}`, text: output, is: 'output' }
}

function ofWords(event: Fields): Behind[] {
  const command = fields(event.command)
  const ask = fields(event.ask)
  const texts = [command.text, command.message, ask.text, event.note]
  return texts
    .map(words)
    .filter(Boolean)
    .map((text) => ({ title: '', text, is: 'words' as const }))
}

/** The checks that did not pass when the gate ran last; what was known before, if it did not run. */
export function failuresOf(
  records: readonly Recorded[],
  before: readonly CheckFailure[] = [],
): readonly CheckFailure[] {
  const last = records.findLast(({ event }) => fields(event.result).result === 'checks_done')
  if (!last) return before
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
