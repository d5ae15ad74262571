// The event stream: opened, read, and opened again from where it broke off, for as long as wanted.
//
// It is a `fetch` and not an EventSource: only so can a new connection name the last event seen, and
// only so does the page learn why it was refused.

import { waitBefore, type Backoff } from './backoff'
import { EventReader, type Message } from './sse'

export type StreamState =
  | { is: 'connecting' }
  | { is: 'open' }
  | { is: 'broken'; since: number; why: string }
  | { is: 'refused' }

export interface StreamEnds {
  messages: (batch: Message[]) => void
  state: (state: StreamState) => void
}

const BACKOFF: Backoff = { first_ms: 250, most_ms: 8_000 }
/** The server says something at least every 15 s; a connection this quiet is dead. */
const QUIET_MS = 40_000

export class Stream {
  #reader = new EventReader()
  #abort: AbortController | undefined
  #brokenSince = 0
  #wake: (() => void) | undefined

  constructor(
    readonly url: string,
    readonly ends: StreamEnds,
    readonly backoff: Backoff = BACKOFF,
  ) {}

  get isWanted(): boolean {
    return this.#abort !== undefined
  }

  open(): void {
    if (this.#abort) return
    this.#abort = new AbortController()
    void this.#run(this.#abort.signal)
  }

  /** Stop listening; `open` goes on after the last event that was seen. */
  close(): void {
    this.#abort?.abort()
    this.#abort = undefined
    this.#wake?.()
  }

  /** Don't wait any longer before the next try. */
  hurry(): void {
    this.#wake?.()
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      if (!this.#brokenSince) this.ends.state({ is: 'connecting' })
      const ended = await this.#listen(signal)
      if (signal.aborted) return
      if (ended.was === 'refused') {
        this.ends.state({ is: 'refused' })
        this.#abort = undefined
        return
      }
      if (ended.was === 'open') attempt = 0
      this.#brokenSince ||= Date.now()
      this.ends.state({ is: 'broken', since: this.#brokenSince, why: ended.why })
      await this.#pause(waitBefore(attempt, this.backoff, Math.random()))
    }
  }

  async #listen(signal: AbortSignal): Promise<{ was: 'open' | 'closed' | 'refused'; why: string }> {
    let was: 'open' | 'closed' = 'closed'
    const quiet = new AbortController()
    let alarm = setTimeout(() => quiet.abort(), QUIET_MS)
    try {
      const answer = await fetch(this.url, {
        headers: {
          Accept: 'text/event-stream',
          ...(this.#reader.lastId && { 'Last-Event-ID': this.#reader.lastId }),
        },
        cache: 'no-store',
        signal: AbortSignal.any([signal, quiet.signal]),
      })
      if (answer.status === 401) return { was: 'refused', why: '' }
      if (!answer.ok || !answer.body) return { was, why: `the server answers ${answer.status}` }
      was = 'open'
      this.#brokenSince = 0
      this.ends.state({ is: 'open' })
      this.#reader = new EventReader(this.#reader.lastId)
      const text = answer.body.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const { done, value } = await text.read()
        clearTimeout(alarm)
        if (done) return { was, why: 'the server ended it' }
        alarm = setTimeout(() => quiet.abort(), QUIET_MS)
        const batch = this.#reader.feed(value)
        if (batch.length) this.ends.messages(batch)
      }
    } catch {
      return {
        was,
        why: quiet.signal.aborted ? 'nothing was heard' : 'the server is not reachable',
      }
    } finally {
      clearTimeout(alarm)
    }
  }

  #pause(wait_ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, wait_ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
