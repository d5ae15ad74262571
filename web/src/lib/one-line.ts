// Markdown as one line of plain text, for lists and logs. Commands stay exactly as they are.

import { withLocalTimes } from './local-times'
import { plain } from './terminal-text'
import type { LogLine } from './api-types'

const CODE = /((?<!`)(?:`[^`]+`|``(?:[^`]|`(?!`))+``)(?!`))/
const FENCE = /(?<!`)`{3,}\w*/g
const LINK = /!?\[([^[\]]*)\]\([^()]*\)/g
// Emphasis opens after a space and closes before a space or punctuation; in paths and globs it doesn't.
const BEFORE = String.raw`(?<![^\s([{"'“‘:·—–-])`
const AFTER = String.raw`(?![^\s)\]}"'”’:;,.!?·…—–-])`
const STRONG = new RegExp(String.raw`${BEFORE}\*\*(?=[^\s*])([^*]*[^\s*])\*\*${AFTER}`, 'g')
const SOFT = new RegExp(String.raw`${BEFORE}\*(?=[^\s*])([^*]*[^\s*])\*${AFTER}`, 'g')
const GONE = new RegExp(String.raw`${BEFORE}~~(?=[^\s~])([^~]*[^\s~])~~${AFTER}`, 'g')
// A single word with underscores is a name; only several words are emphasis.
const LOW = new RegExp(String.raw`${BEFORE}(__?)(?=[^\s_])([^_]*[^\s_])\1${AFTER}`, 'g')
// Names of failures, which the log writes with underscores.
const KIND = /(^|\()(bad_request|rate_limited|usage_limited|timed_out|out_of_\w+)(?=: )/
const BEGIN = /^((?:message|reasoning): )?(?:#{1,6}|>|[-*+])\s+/

export function oneLine(markdown: string): string {
  const line = plain(markdown).replace(/\s+/g, ' ').trim()
  return line
    .replace(BEGIN, '$1')
    .replace(KIND, (kind) => kind.replaceAll('_', ' '))
    .replace(FENCE, '')
    .split(CODE)
    .map(bare)
    .join('')
    .trim()
}

/** Every other piece is code, where marks mean nothing. */
function bare(piece: string, index: number): string {
  if (index % 2) return piece.replace(/^``? ?| ?``?$/g, '')
  return [STRONG, SOFT, GONE, LINK]
    .reduce((text, mark) => text.replace(mark, '$1'), piece)
    .replace(LOW, (all, _, words: string) => (words.includes(' ') ? words : all))
}

/** The same for text of several lines. */
export function plainLines(markdown: string): string {
  return plain(markdown).split('\n').map(oneLine).join('\n')
}

const EXACT = /^(?:command|diff|check|file|did|asks): /

/** A log line. Commands, file names and requests are not Markdown and stay as they are. */
export function logLineText({ type, text }: Pick<LogLine, 'type' | 'text'>): string {
  return type === 'asked' || EXACT.test(text) ? plain(text) : oneLine(text)
}

/** The reason of a run's status, with local times. It may be a command that waits for approval. */
export function reasonText(reason: string): string {
  return EXACT.test(reason) ? plain(reason) : withLocalTimes(oneLine(reason))
}
