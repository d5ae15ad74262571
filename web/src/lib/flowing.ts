// Words in flight: pieces that come in, and what was said before somebody came.

import type { LiveText } from './wire'

/** What is known of it: numbers are those of the server, and count characters, not UTF-16. */
export interface Flow {
  start: number
  end: number
  text: string
}

export type Piece = Pick<LiveText, 'start' | 'end' | 'text'>

/** With the next piece; one that is known already changes nothing. */
export function heard(flow: Flow | undefined, { start, end, text }: Piece): Flow {
  if (!flow) return { start, end, text }
  return end <= flow.end ? flow : { ...flow, end, text: flow.text + text }
}

/** With what had been said by the time it was asked for, and all that came in since. */
export function recalled(flow: Flow | undefined, before: Piece): Flow {
  if (!flow || flow.end <= before.end) return { ...before }
  const known = [...before.text].slice(0, Math.max(0, flow.start - before.start))
  return {
    start: Math.min(before.start, flow.start),
    end: flow.end,
    text: known.join('') + flow.text,
  }
}

/** No longer than this; its end is kept. */
export function ending(flow: Flow, most: number): Flow {
  return flow.text.length > most ? { ...flow, text: flow.text.slice(-most) } : flow
}
