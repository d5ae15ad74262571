// The connection to the server: fetches everything once, then applies the event stream to the
// stores, once a frame.

import { get } from '../lib/api'
import type { Health, HoldView, Inbox } from '../lib/api-types'
import { join, type Bus } from '../lib/event-bus'
import type { StreamState } from '../lib/event-stream'
import type { Message } from '../lib/sse-reader'
import { collectUpdates, type StreamUpdates } from '../lib/stream-updates'
import type { TabRole, TabState } from '../lib/tab-roles'
import { board, fetchBoard } from './board.svelte'
import { currentTime } from './current-time.svelte'
import { inbox } from './inbox.svelte'
import { logs } from './logs.svelte'
import { rooms } from './rooms.svelte'
import { fetchRuns, runs } from './runs.svelte'
import { sprints } from './sprints.svelte'
import { allstop } from './stop.svelte'

const RETRY_MS = 2_000
/** How long the first fetch waits for the stream: what changes between the two would be missed. */
const STREAM_MS = 1_000
/** A hidden tab draws no frames, but its title must still be right. */
const HIDDEN_MS = 250

class Connection {
  stream = $state.raw<StreamState>({ is: 'connecting' })
  health = $state.raw<Health>()
  /** While the stream is broken: whether the server answers requests; undefined until tried. */
  serverResponds = $state<boolean>()
  /** Why the last fetch failed. It is repeated after a while, and when the stream is back. */
  error = $state.raw<Error>()
  isLoaded = $state(false)
  /** How often everything was fetched. Pages watch it to fetch their own data again. */
  loads = $state(0)

  #bus: Bus | undefined
  #tabState: TabState | undefined
  #onTabRole: ((role: TabRole) => void) | undefined
  #messages: Message[] = []
  #frame: number | ReturnType<typeof setTimeout> | undefined
  #isLoading = false
  #mustRepeat = false
  /** Whether everything was fetched since the stream was opened. */
  #isFollowing = false

  /** Connects and loads everything; the returned function disconnects. */
  open(): () => void {
    this.#bus = join('./api/v1/stream', {
      messages: this.#receive,
      state: this.#setStream,
      role: (role) => this.#onTabRole?.(role),
    })
    if (this.#tabState) this.#bus.setTabState(this.#tabState)
    const stopClock = currentTime.start()
    const timer = setTimeout(() => this.stream.is === 'connecting' && void this.load(), STREAM_MS)
    return () => {
      clearTimeout(timer)
      stopClock()
      this.#bus?.leave()
    }
  }

  /** Connects at once instead of waiting for the next try. */
  reconnect(): void {
    this.#bus?.reconnect()
  }

  setTabState(state: TabState): void {
    this.#tabState = state
    this.#bus?.setTabState(state)
  }

  onTabRole(listener: (role: TabRole) => void): void {
    this.#onTabRole = listener
  }

  /** Fetches everything. Messages of the stream wait meanwhile, since they are newer. */
  async load(): Promise<void> {
    this.#mustRepeat = this.#isLoading
    if (this.#isLoading) return
    this.#isLoading = true
    try {
      const [health, hold, tasks, open, waiting] = await Promise.all([
        get<Health>('/healthz'),
        get<HoldView>('/hold'),
        fetchBoard(),
        fetchRuns(),
        get<Inbox>('/inbox'),
      ])
      this.health = health
      allstop.hold = hold
      board.replace(tasks)
      runs.replace(open)
      inbox.items = waiting.waiting
      this.error = undefined
      this.isLoaded = true
      this.loads++
    } catch (error) {
      this.error = error as Error
      setTimeout(() => this.error && this.stream.is === 'open' && void this.load(), RETRY_MS)
    } finally {
      this.#isLoading = false
      if (this.#mustRepeat) void this.load()
      else this.#schedule()
    }
  }

  #setStream = (state: StreamState) => {
    const { is: before } = this.stream
    this.stream = state
    if (state.is === 'open' && (!this.#isFollowing || (before !== 'open' && this.error))) {
      this.#isFollowing = true
      void this.load()
    } else if (state.is !== 'connecting' && before === 'connecting' && !this.#isFollowing)
      void this.load()
    if (state.is === 'broken') void this.#checkServer()
    else this.serverResponds = undefined
  }

  async #checkServer(): Promise<void> {
    const health = await get<Health>('/healthz').catch(() => undefined)
    if (this.stream.is === 'broken') this.serverResponds = health !== undefined
  }

  #receive = (batch: Message[]) => {
    this.#messages.push(...batch)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#frame !== undefined || this.#isLoading || !this.#messages.length) return
    const apply = () => {
      this.#frame = undefined
      const batch = this.#messages
      this.#messages = []
      this.#apply(collectUpdates(batch))
    }
    this.#frame = document.hidden ? setTimeout(apply, HIDDEN_MS) : requestAnimationFrame(apply)
  }

  #apply(updates: StreamUpdates): void {
    board.addTasks(updates.tasks)
    runs.add(updates.runs, updates)
    sprints.add(updates.sprints)
    logs.addLines(updates.logs)
    logs.addLive(updates.live)
    rooms.add(updates.roomSummaries)
    rooms.notify(updates.roomEvents, updates.live)
    if (updates.hold) allstop.hold = updates.hold
    if (updates.board) board.setState(updates.board)
    if (updates.inbox !== undefined) void inbox.refresh()
    if (updates.reset) void this.load()
  }
}

export const connection = new Connection()
