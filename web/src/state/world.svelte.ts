// What the page knows: fetched once, then kept current by the event stream, once a frame.

import { get, part } from '../lib/api'
import { join, type Bus } from '../lib/bus'
import { gather, type News } from '../lib/news'
import { logOf } from '../lib/records'
import type { Role, Stand } from '../lib/picking'
import { Ring } from '../lib/ring'
import { aboutTask, taskIn } from '../lib/runs'
import type { Message } from '../lib/sse'
import type { StreamState } from '../lib/stream'
import type { AutoView, BoardPage, Health, HoldView, Inbox, LiveList, LiveText } from '../lib/wire'
import type { LogLine, RecordList, RoomEvent, RoomList, RoomSummary } from '../lib/wire'
import type { RunDetail, RunList, RunView, TaskView, Waiting } from '../lib/wire'
import { Live } from './live.svelte'

/** Lines kept for each run, and for all of them together. */
export const LOG_LINES = 5_000
/** What could not be fetched is tried again after so long. */
const RETRY_MS = 2_000
/** How many of the board's events a fresh page shows. */
const RECALLED = 60

/** A log that is read through `version`: its lines are too many to be watched one by one. */
export class Log {
  lines = new Ring<LogLine>(LOG_LINES)
  version = $state(0)

  add(lines: readonly LogLine[]): void {
    this.lines.push(...lines)
    this.version++
  }

  /** What was written before, fetched while newer lines were already coming in. */
  begin(history: readonly LogLine[]): void {
    const last = history.at(-1)?.seq ?? 0
    const later = this.lines.all().filter(({ seq }) => seq > last)
    this.lines = new Ring(LOG_LINES)
    this.add([...history, ...later])
  }

  /** What was written before, where lines of many runs are mixed. */
  precede(history: readonly LogLine[]): void {
    const lines = this.lines.all()
    const known = new Set(lines.map(({ run, seq }) => `${run} ${seq}`))
    this.lines = new Ring(LOG_LINES)
    this.add([...history.filter(({ run, seq }) => !known.has(`${run} ${seq}`)), ...lines])
  }
}

/** Hears a room: what was said in it, and the words that are just being said. */
export type Ear = (events: readonly RoomEvent[], live: readonly LiveText[]) => void

class World {
  health = $state.raw<Health>()
  hold = $state.raw<HoldView>()
  waiting = $state.raw<Waiting[]>([])
  phase = $state('')
  mode = $state('')
  stream = $state.raw<StreamState>({ is: 'connecting' })
  /** While news don't come in: whether the server answers at all, once that has been tried. */
  answers = $state<boolean>()
  /** Why the last fetch failed; it is tried again, and when the stream is back. */
  trouble = $state.raw<Error>()
  isLoaded = $state(false)
  /** The time, for ages; it moves every few seconds. */
  now = $state(Date.now())

  readonly everything = new Log()

  #tasks = new Map<string, TaskView>()
  #runs = new Map<string, RunView>()
  #autos = new Map<string, AutoView>()
  #logs = new Map<string, Log>()
  #live = new Map<string, Live>()
  #ears = new Map<string, Ear>()
  #talks = new Map<string, RoomSummary>()
  #taskVersion = $state(0)
  #runVersion = $state(0)
  #autoVersion = $state(0)
  #talkVersion = $state(0)
  /** How often everything was fetched: what a page fetched for itself is then too old as well. */
  loads = $state(0)

  #bus: Bus | undefined
  #stand: Stand | undefined
  #hearRole: ((role: Role) => void) | undefined
  #waiting: Message[] = []
  #frame: number | ReturnType<typeof setTimeout> | undefined
  #loading = false
  #recalls = false

  tasks = $derived.by(() => (this.#taskVersion, [...this.#tasks.values()]))
  runs = $derived.by(() => (this.#runVersion, [...this.#runs.values()]))
  autos = $derived.by(() => (this.#autoVersion, [...this.#autos.values()]))
  talks = $derived.by(() => (this.#talkVersion, [...this.#talks.values()]))

  task(id: string): TaskView | undefined {
    return (this.#taskVersion, this.#tasks.get(id))
  }

  run(id: string | null | undefined): RunView | undefined {
    return (this.#runVersion, id ? this.#runs.get(id) : undefined)
  }

  /** A line of all runs together: what it is about, by its title, and what is said of it. */
  told({ run, text }: LogLine): { about: string; text: string } {
    const said = run === 'board' ? aboutTask(text) : undefined
    const task = said && this.task(said.task)
    if (said && task) return { about: task.title, text: said.rest }
    return { about: this.task(taskIn(run))?.title || this.run(run)?.title || run, text }
  }

  auto(run: string): AutoView | undefined {
    return (this.#autoVersion, this.#autos.get(run))
  }

  /** Something that was fetched by itself; what the stream says later is newer. */
  learn({ run, auto }: RunDetail): void {
    this.#runs.set(run.id, run)
    if (auto) this.#autos.set(auto.run, auto)
    this.#runVersion++
    this.#autoVersion++
  }

  log(run: string): Log {
    return entry(this.#logs, run, () => new Log())
  }

  live(run: string): Live {
    return entry(this.#live, run, () => new Live())
  }

  /** What is being said there, with what was said before this page came. */
  async recall(run: string): Promise<void> {
    const { words } = await get<LiveList>(`/runs/${part(run)}/live`)
    this.live(run).recall(words)
  }

  /** Where a room stands. */
  talk(thread: string): RoomSummary | undefined {
    return (this.#talkVersion, this.#talks.get(thread))
  }

  /** Hear a room, until the function that comes back is called. */
  listen(thread: string, ear: Ear): () => void {
    this.#ears.set(thread, ear)
    return () => this.#ears.delete(thread)
  }

  async loadTalks(): Promise<void> {
    const { rooms } = await get<RoomList>('/rooms')
    this.#talks = new Map(rooms.map((room) => [room.thread, room]))
    this.#talkVersion++
  }

  begin(): () => void {
    this.#bus = join('./api/v1/stream', {
      messages: this.#hear,
      state: this.#streamIs,
      role: (role) => this.#hearRole?.(role),
    })
    if (this.#stand) this.#bus.stand(this.#stand)
    const ticking = setInterval(() => (this.now = Date.now()), 5_000)
    void this.load()
    return () => {
      clearInterval(ticking)
      this.#bus?.leave()
    }
  }

  /** Which part this tab has among all that are open. */
  onRole(hear: (role: Role) => void): void {
    this.#hearRole = hear
  }

  stand(stand: Stand): void {
    this.#stand = stand
    this.#bus?.stand(stand)
  }

  hurry(): void {
    this.#bus?.hurry()
  }

  /** Fetch everything. What the stream says meanwhile waits, since it is newer. */
  async load(): Promise<void> {
    if (this.#loading) return
    this.#loading = true
    try {
      const [health, hold, board, runs, open, inbox] = await Promise.all([
        get<Health>('/healthz'),
        get<HoldView>('/hold'),
        wholeBoard(),
        get<RunList>('/runs'),
        openRuns(),
        get<Inbox>('/inbox'),
      ])
      this.health = health
      this.hold = hold
      this.phase = board.phase
      this.mode = board.mode
      this.waiting = inbox.waiting
      this.#tasks = new Map(board.tasks.map((task) => [task.id, task]))
      this.#runs = new Map([...open, ...runs.runs].map((run) => [run.id, run]))
      this.#taskVersion++
      this.#runVersion++
      this.trouble = undefined
      this.isLoaded = true
      this.loads++
    } catch (error) {
      this.trouble = error as Error
      setTimeout(() => this.trouble && this.stream.is === 'open' && void this.load(), RETRY_MS)
    } finally {
      this.#loading = false
      this.#schedule()
    }
  }

  /** Where the board stands; its tasks come by themselves. */
  async boardChanged(): Promise<void> {
    const board = await get<BoardPage>('/board?limit=1').catch(() => undefined)
    if (!board) return
    this.phase = board.phase
    this.mode = board.mode
  }

  /** What happened on the board last, so that a page which shows that isn't blank at first. */
  async recallBoard(): Promise<void> {
    if (this.#recalls) return
    this.#recalls = true
    try {
      const { seq } = await get<RunDetail>('/runs/board')
      const last = await get<RecordList>(`/runs/board/events?after=${Math.max(0, seq - RECALLED)}`)
      this.everything.precede(logOf(last.events))
    } catch {
      this.#recalls = false // it is a mere courtesy
    }
  }

  async inboxChanged(): Promise<void> {
    const inbox = await get<Inbox>('/inbox').catch(() => undefined)
    if (inbox) this.waiting = inbox.waiting
  }

  #streamIs = (state: StreamState) => {
    const wasDown = this.stream.is !== 'open'
    this.stream = state
    if (state.is === 'open' && wasDown && this.trouble) void this.load()
    if (state.is === 'broken') void this.#knock()
    else this.answers = undefined
  }

  async #knock(): Promise<void> {
    const health = await get<Health>('/healthz').catch(() => undefined)
    if (this.stream.is === 'broken') this.answers = health !== undefined
  }

  #hear = (batch: Message[]) => {
    this.#waiting.push(...batch)
    this.#schedule()
  }

  /** A hidden tab draws no frames, but its title must still be true. */
  #schedule(): void {
    if (this.#frame !== undefined || this.#loading || !this.#waiting.length) return
    const apply = () => {
      this.#frame = undefined
      const batch = this.#waiting
      this.#waiting = []
      this.#apply(gather(batch))
    }
    this.#frame = document.hidden ? setTimeout(apply, 250) : requestAnimationFrame(apply)
  }

  #apply(news: News): void {
    for (const [id, task] of news.tasks) this.#tasks.set(id, task)
    for (const [id, run] of news.runs) this.#runs.set(id, run)
    for (const [run, auto] of news.autos) this.#autos.set(run, auto)
    if (news.tasks.size) this.#taskVersion++
    if (news.runs.size) this.#runVersion++
    if (news.autos.size) this.#autoVersion++
    for (const [run, lines] of news.logs) {
      this.#logs.get(run)?.add(lines)
      if (lines.some(({ type }) => type === 'move_ended')) this.#live.get(run)?.end()
    }
    if (news.logs.size) this.everything.add([...news.logs.values()].flat())
    for (const [run, said] of news.live) {
      const live = this.live(run)
      for (const piece of said) live.say(piece)
    }
    for (const [thread, talk] of news.talks) this.#talks.set(thread, talk)
    if (news.talks.size) this.#talkVersion++
    for (const [thread, ear] of this.#ears)
      ear(news.rooms.get(thread) ?? [], news.live.get(`room:${thread}`) ?? [])
    if (news.hold) this.hold = news.hold
    if (news.board) {
      this.phase = news.board.phase
      this.mode = news.board.mode
    }
    if (news.inbox !== undefined) void this.inboxChanged()
    if (news.reset) void this.load()
  }
}

async function wholeBoard(): Promise<BoardPage> {
  let board = await get<BoardPage>('/board')
  while (board.more) {
    const next = await get<BoardPage>(`/board?after=${board.tasks.length}`)
    board = { ...next, tasks: [...board.tasks, ...next.tasks] }
  }
  return board
}

/** All that are not over, however long ago they began. */
async function openRuns(): Promise<RunView[]> {
  const found: RunView[] = []
  for (let before = '', more = true; more;) {
    const asked = before && `&before=${part(before)}`
    const page = await get<RunList>(`/runs?open=true&limit=1000${asked}`)
    found.push(...page.runs)
    before = page.runs.at(-1)?.id ?? ''
    more = page.more
  }
  return found
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  // Outside of whoever asks first: what is made within a part of the page would end with it.
  let made!: V
  $effect.root(() => {
    made = make()
  })
  map.set(key, made)
  return made
}

export const world = new World()
