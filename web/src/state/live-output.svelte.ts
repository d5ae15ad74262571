// The live output of one run: text that streams in, the agent's current activity, and the gate.

import { readChecks, withCheck, type CheckLine } from '../lib/gate-checks'
import { appendPiece, lastCharacters, withHistory, type StreamedText } from '../lib/live-text'
import type { LiveText } from '../lib/api-types'

/** Characters kept of each kind of text. */
const MOST_CHARACTERS = 20_000
/** The kinds that are joined to a text. The server numbers each of them by itself. */
const STREAMED = ['text', 'reasoning', 'output']
/** The kinds that only say what happens now: each replaces the one before. */
const TRANSIENT = ['status', 'retry']

export class LiveOutputState {
  gate = $state.raw<CheckLine[]>([])
  /** The agent's current activity, in one line. */
  activity = $state('')
  #texts = $state.raw<Readonly<Record<string, StreamedText>>>({})
  text = $derived(this.#texts.text?.text ?? '')
  reasoning = $derived(this.#texts.reasoning?.text ?? '')
  output = $derived(this.#texts.output?.text ?? '')

  add(piece: LiveText, join = appendPiece): void {
    if (piece.kind === 'check')
      for (const check of readChecks(piece.text)) this.gate = withCheck(this.gate, check)
    else if (TRANSIENT.includes(piece.kind))
      this.activity = piece.kind === 'retry' ? `Trying again: ${piece.text}` : piece.text
    else if (STREAMED.includes(piece.kind)) {
      const text = lastCharacters(join(this.#texts[piece.kind], piece), MOST_CHARACTERS)
      this.#texts = { ...this.#texts, [piece.kind]: text }
    }
  }

  /** Adds the text that came before this page was opened. */
  addHistory(pieces: readonly LiveText[]): void {
    for (const piece of pieces)
      if (!(TRANSIENT.includes(piece.kind) && this.activity)) this.add(piece, withHistory)
  }

  /** The turn is over; its text is in the log. */
  clear(): void {
    this.#texts = {}
    this.activity = ''
  }
}
