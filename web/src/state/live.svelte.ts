// What is in flight in one run: words as they come, what its agent does just now, and the gate.

import { ending, heard, recalled, type Flow } from '../lib/flowing'
import { readChecks, withCheck, type CheckLine } from '../lib/gate'
import type { LiveText } from '../lib/wire'

/** Letters kept of each kind. */
const LETTERS = 20_000
/** What a reader follows. The server numbers each kind by itself, so each is a flow of its own. */
const FLOWS = ['text', 'reasoning', 'output']
/** What is only said until the next of them: it says what happens now. */
const MOMENTARY = ['status', 'retry']

export class Live {
  gate = $state.raw<CheckLine[]>([])
  /** In one line, what its agent does now. */
  doing = $state('')
  #flows = $state.raw<Readonly<Record<string, Flow>>>({})
  text = $derived(this.#flows.text?.text ?? '')
  reasoning = $derived(this.#flows.reasoning?.text ?? '')
  output = $derived(this.#flows.output?.text ?? '')

  say(piece: LiveText, join = heard): void {
    if (piece.kind === 'check')
      for (const check of readChecks(piece.text)) this.gate = withCheck(this.gate, check)
    else if (MOMENTARY.includes(piece.kind))
      this.doing = piece.kind === 'retry' ? `tries again: ${piece.text}` : piece.text
    else if (FLOWS.includes(piece.kind)) {
      const flow = ending(join(this.#flows[piece.kind], piece), LETTERS)
      this.#flows = { ...this.#flows, [piece.kind]: flow }
    }
  }

  /** What had been said before this page came. */
  recall(words: readonly LiveText[]): void {
    for (const piece of words)
      if (!(MOMENTARY.includes(piece.kind) && this.doing)) this.say(piece, recalled)
  }

  /** What was said is in the log now. */
  end(): void {
    this.#flows = {}
    this.doing = ''
  }
}
