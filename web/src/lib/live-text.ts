// Live text: pieces that stream in, joined with the history that was fetched later.

import type { LiveText } from './api-types'

/** Positions are the server's. They count characters, not UTF-16 units. */
export interface StreamedText {
  start: number
  end: number
  text: string
}

export type TextPiece = Pick<LiveText, 'start' | 'end' | 'text'>

/** Appends the next piece; one that is already known changes nothing. */
export function appendPiece(
  known: StreamedText | undefined,
  { start, end, text }: TextPiece,
): StreamedText {
  if (!known) return { start, end, text }
  return end <= known.end ? known : { ...known, end, text: known.text + text }
}

/** Puts fetched history in front of the pieces that came in since. */
export function withHistory(known: StreamedText | undefined, history: TextPiece): StreamedText {
  if (!known || known.end <= history.end) return { ...history }
  const missing = [...history.text].slice(0, Math.max(0, known.start - history.start))
  return {
    start: Math.min(history.start, known.start),
    end: known.end,
    text: missing.join('') + known.text,
  }
}

/** Keeps at most so many characters of its end. */
export function lastCharacters(known: StreamedText, most: number): StreamedText {
  return known.text.length > most ? { ...known, text: known.text.slice(-most) } : known
}
