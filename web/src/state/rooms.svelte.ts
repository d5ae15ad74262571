// The rooms: a summary of each thread, and listeners for messages in the thread a page shows.

import { get } from '../lib/api'
import type { LiveText, RoomEvent, RoomList, RoomSummary } from '../lib/api-types'
import { roomRun } from '../lib/runs'
import { KeyedStore } from './keyed-store.svelte'

/** Gets a thread's new events and the text that agents are just writing. */
export type RoomListener = (events: readonly RoomEvent[], live: readonly LiveText[]) => void

class Rooms {
  #summaries = new KeyedStore<RoomSummary>()
  isLoaded = $state(false)
  #listeners = new Map<string, RoomListener>()

  get all(): RoomSummary[] {
    return this.#summaries.all
  }

  get(thread: string): RoomSummary | undefined {
    return this.#summaries.get(thread)
  }

  async load(): Promise<void> {
    const { rooms } = await get<RoomList>('/rooms')
    this.#summaries.replace(rooms.map((room) => [room.thread, room]))
    this.isLoaded = true
  }

  add(summaries: ReadonlyMap<string, RoomSummary>): void {
    this.#summaries.add(summaries)
  }

  /** Listens to a thread until the returned function is called. */
  listen(thread: string, listener: RoomListener): () => void {
    this.#listeners.set(thread, listener)
    return () => this.#listeners.delete(thread)
  }

  notify(events: ReadonlyMap<string, RoomEvent[]>, live: ReadonlyMap<string, LiveText[]>): void {
    for (const [thread, listener] of this.#listeners)
      listener(events.get(thread) ?? [], live.get(roomRun(thread)) ?? [])
  }
}

export const rooms = new Rooms()
