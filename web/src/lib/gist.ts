// Words of an agent for a place with one line: Markdown without its marks. What could be a command
// stays exactly as it is.

import { plain } from './terminal'
import type { LogLine } from './wire'

const CODE = /((?<!`)(?:`[^`]+`|``(?:[^`]|`(?!`))+``)(?!`))/
const FENCE = /(?<!`)`{3,}\w*/g
const LINK = /!?\[([^[\]]*)\]\([^()]*\)/g
// A mark opens after a space and closes before one, or before punctuation: paths and globs have none.
const BEFORE = String.raw`(?<![^\s([{"'“‘:·—–-])`
const AFTER = String.raw`(?![^\s)\]}"'”’:;,.!?·…—–-])`
const STRONG = new RegExp(String.raw`${BEFORE}\*\*(?=[^\s*])([^*]*[^\s*])\*\*${AFTER}`, 'g')
const SOFT = new RegExp(String.raw`${BEFORE}\*(?=[^\s*])([^*]*[^\s*])\*${AFTER}`, 'g')
const GONE = new RegExp(String.raw`${BEFORE}~~(?=[^\s~])([^~]*[^\s~])~~${AFTER}`, 'g')
// Names have underscores of their own; only several words together are meant to stand out.
const LOW = new RegExp(String.raw`${BEFORE}(__?)(?=[^\s_])([^_]*[^\s_])\1${AFTER}`, 'g')
// Kinds of failures have underscores in the record.
const KIND = /(^|\()(bad_request|rate_limited|usage_limited|timed_out|out_of_\w+)(?=: )/
const BEGIN = /^((?:message|reasoning): )?(?:#{1,6}|>|[-*+])\s+/

export function gist(markdown: string): string {
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

/** Every other piece is code, which has no marks within. */
function bare(piece: string, index: number): string {
  if (index % 2) return piece.replace(/^``? ?| ?``?$/g, '')
  return [STRONG, SOFT, GONE, LINK]
    .reduce((text, mark) => text.replace(mark, '$1'), piece)
    .replace(LOW, (all, _, words: string) => (words.includes(' ') ? words : all))
}

/** The same where there is room for more than one line. */
export function gistOfLines(markdown: string): string {
  return plain(markdown).split('\n').map(gist).join('\n')
}

const EXACT = /^(?:command|diff|check|file|did|asks): /

/** A line of a log; what was run, written or asked for is not words. */
export function gistOf({ type, text }: Pick<LogLine, 'type' | 'text'>): string {
  return type === 'asked' || EXACT.test(text) ? plain(text) : gist(text)
}

/** Where a run stands: it may be a command that waits for leave. */
export function gistOfReason(reason: string): string {
  return EXACT.test(reason) ? plain(reason) : gist(reason)
}
