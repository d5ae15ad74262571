// One thread of a room: its transcript, and the text that an agent is just writing.

import { get, part } from '../lib/api'
import { appendPiece, withHistory, type StreamedText } from '../lib/live-text'
import { withEvents, mergedEvents, EMPTY_TRANSCRIPT, type Transcript } from '../lib/transcript'
import type { LiveList, LiveText, RoomEvent, RoomEvents } from '../lib/api-types'
import { roomRun } from '../lib/runs'
import { rooms } from './rooms.svelte'

export class Room {
  transcript = $state.raw<Transcript>(EMPTY_TRANSCRIPT)
  isLoaded = $state(false)
  error = $state.raw<Error>()
  /** Live text by call. Text may come before the call is known, or after its end. */
  #live = $state.raw(new Map<string, StreamedText>())
  #events: readonly RoomEvent[] = []
  /** The number of the last event that was fetched. */
  #fetched = 0

  liveText = $derived((this.transcript.call && this.#live.get(this.transcript.call.id)?.text) ?? '')

  constructor(readonly thread: string) {}

  get run(): string {
    return roomRun(this.thread)
  }

  listen(): () => void {
    return rooms.listen(this.thread, (events, live) => {
      if (events.length) this.#addEvents(events)
      if (live.length) this.#addLive(live)
    })
  }

  /** Fetches the transcript; events that arrive meanwhile come after it. */
  async load(): Promise<void> {
    try {
      const history = await fetchHistory(this.thread)
      this.#events = mergedEvents(history, this.#events)
      this.#fetched = history.at(-1)?.seq ?? 0
      this.transcript = withEvents(EMPTY_TRANSCRIPT, this.#events)
      this.error = undefined
      this.isLoaded = true
      if (this.transcript.call) await this.#loadLive()
    } catch (error) {
      this.error = error as Error
    }
  }

  /** Fetches the live text that came before this page was opened. */
  async #loadLive(): Promise<void> {
    const { words } = await get<LiveList>(`/runs/${part(this.run)}/live`)
    this.#addLive(words, withHistory)
  }

  #addEvents(events: readonly RoomEvent[]): void {
    const added = events.filter(({ seq }) => seq > this.#fetched)
    this.#events = [...this.#events, ...added]
    if (!this.isLoaded) return
    this.transcript = withEvents(this.transcript, added)
    const { call } = this.transcript
    if (added.some(({ type }) => type === 'agent_call'))
      this.#live = new Map([...this.#live].filter(([id]) => id === call?.id))
  }

  #addLive(live: readonly LiveText[], join = appendPiece): void {
    const words = new Map(this.#live)
    for (const piece of live)
      if (piece.kind === 'text') words.set(piece.call, join(words.get(piece.call), piece))
    this.#live = words
  }
}

async function fetchHistory(thread: string): Promise<RoomEvent[]> {
  if (!rooms.get(thread)) return [] // a new thread
  const events: RoomEvent[] = []
  for (let after = 0; ;) {
    const page = await get<RoomEvents>(`/rooms/${part(thread)}/events?after=${after}`)
    events.push(...page.events)
    after = page.events.at(-1)?.seq ?? after
    if (!page.more) return events
  }
}
