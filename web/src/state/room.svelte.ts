// One thread of a room: what was said in it, and what is just being said.

import { get, part } from '../lib/api'
import { heard, recalled, type Flow } from '../lib/flowing'
import { hear, joined, SILENCE, type Talk } from '../lib/talk'
import type { LiveList, LiveText, RoomEvent, RoomEvents } from '../lib/wire'
import { world } from './world.svelte'

export class Room {
  talk = $state.raw<Talk>(SILENCE)
  isLoaded = $state(false)
  trouble = $state.raw<Error>()
  /** Words in flight, by their call. A call may be heard of before it is known, or after its end. */
  #words = $state.raw(new Map<string, Flow>())
  #events: readonly RoomEvent[] = []
  /** Everything up to this record was fetched. */
  #fetched = 0

  words = $derived((this.talk.call && this.#words.get(this.talk.call.id)?.text) ?? '')

  constructor(readonly thread: string) {}

  get run(): string {
    return `room:${this.thread}`
  }

  listen(): () => void {
    return world.listen(this.thread, (events, live) => {
      if (events.length) this.#hear(events)
      if (live.length) this.#say(live)
    })
  }

  /** Fetch what was said; what the stream says meanwhile comes after it. */
  async load(): Promise<void> {
    try {
      const history = await whole(this.thread)
      this.#events = joined(history, this.#events)
      this.#fetched = history.at(-1)?.seq ?? 0
      this.talk = hear(SILENCE, this.#events)
      this.trouble = undefined
      this.isLoaded = true
      if (this.talk.call) await this.#recall()
    } catch (error) {
      this.trouble = error as Error
    }
  }

  /** What was said before this page came. */
  async #recall(): Promise<void> {
    const { words } = await get<LiveList>(`/runs/${part(this.run)}/live`)
    this.#say(words, recalled)
  }

  #hear(events: readonly RoomEvent[]): void {
    const news = events.filter(({ seq }) => seq > this.#fetched)
    this.#events = [...this.#events, ...news]
    if (!this.isLoaded) return
    this.talk = hear(this.talk, news)
    const { call } = this.talk
    if (news.some(({ type }) => type === 'agent_call'))
      this.#words = new Map([...this.#words].filter(([id]) => id === call?.id))
  }

  #say(live: readonly LiveText[], join = heard): void {
    const words = new Map(this.#words)
    for (const piece of live)
      if (piece.kind === 'text') words.set(piece.call, join(words.get(piece.call), piece))
    this.#words = words
  }
}

async function whole(thread: string): Promise<RoomEvent[]> {
  if (!world.talk(thread)) return [] // nobody has spoken there yet
  const events: RoomEvent[] = []
  for (let after = 0; ;) {
    const page = await get<RoomEvents>(`/rooms/${part(thread)}/events?after=${after}`)
    events.push(...page.events)
    after = page.events.at(-1)?.seq ?? after
    if (!page.more) return events
  }
}
