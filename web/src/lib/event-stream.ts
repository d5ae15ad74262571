// The event stream: it reconnects by itself and continues after the last event it has seen.
//
// It uses `fetch`, not EventSource: only then can a new connection name the last event seen, and
// only then does the page learn that it was refused.

import { waitBefore, type Backoff } from './backoff'
import { EventReader, type Message } from './sse-reader'

export type StreamState =
  | { is: 'connecting' }
  | { is: 'open' }
  | { is: 'broken'; since: number; why: string }
  | { is: 'refused' }

export interface StreamListeners {
  messages: (batch: Message[]) => void
  state: (state: StreamState) => void
}

const BACKOFF: Backoff = { first_ms: 250, most_ms: 8_000 }
/** The server sends something at least every 15 s; a connection this quiet is dead. */
const QUIET_MS = 40_000

export class EventStream {
  #reader = new EventReader()
  #abort: AbortController | undefined
  #brokenSince = 0
  #wake: (() => void) | undefined

  constructor(
    readonly url: string,
    readonly listeners: StreamListeners,
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

  /** Disconnects; `open` continues after the last event seen. */
  close(): void {
    this.#abort?.abort()
    this.#abort = undefined
    this.#wake?.()
  }

  /** Tries again at once. */
  reconnect(): void {
    this.#wake?.()
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      if (!this.#brokenSince) this.listeners.state({ is: 'connecting' })
      const ended = await this.#listen(signal)
      if (signal.aborted) return
      if (ended.was === 'refused') {
        this.listeners.state({ is: 'refused' })
        this.#abort = undefined
        return
      }
      if (ended.was === 'open') attempt = 0
      this.#brokenSince ||= Date.now()
      this.listeners.state({ is: 'broken', since: this.#brokenSince, why: ended.why })
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
      if (!answer.ok || !answer.body)
        return { was, why: `the server answered with status ${answer.status}` }
      was = 'open'
      this.#brokenSince = 0
      this.listeners.state({ is: 'open' })
      this.#reader = new EventReader(this.#reader.lastId)
      const text = answer.body.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const { done, value } = await text.read()
        clearTimeout(alarm)
        if (done) return { was, why: 'the server closed the connection' }
        alarm = setTimeout(() => quiet.abort(), QUIET_MS)
        const batch = this.#reader.feed(value)
        if (batch.length) this.listeners.messages(batch)
      }
    } catch {
      return {
        was,
        why: quiet.signal.aborted ? 'the server sent nothing' : 'the server can’t be reached',
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
