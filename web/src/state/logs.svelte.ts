// The log and the live output of each run.

import { get, part } from '../lib/api'
import type { LiveList, LiveText, LogLine, RecordList, RunDetail } from '../lib/api-types'
import { logLines } from '../lib/run-log'
import { BOARD, taskInLine, taskOfRun } from '../lib/runs'
import { board } from './board.svelte'
import { LiveOutputState } from './live-output.svelte'
import { Log } from './log.svelte'
import { runs } from './runs.svelte'

/** How many of the board's events a fresh page shows. */
const BOARD_EVENTS = 60

/** How the log line of a model call begins. */
const CALL = 'model call: '

class Logs {
  /** The lines of all runs together. */
  readonly all = new Log()
  /** How many model calls were recorded since the page was opened. */
  calls = $state(0)
  #logs = new Map<string, Log>()
  #live = new Map<string, LiveOutputState>()
  #hasBoardHistory = false

  of(run: string): Log {
    return entry(this.#logs, run, () => new Log())
  }

  live(run: string): LiveOutputState {
    return entry(this.#live, run, () => new LiveOutputState())
  }

  addLines(lines: ReadonlyMap<string, LogLine[]>): void {
    for (const [run, added] of lines) {
      this.#logs.get(run)?.add(added)
      if (added.some(({ type }) => type === 'move_ended')) this.#live.get(run)?.clear()
    }
    if (!lines.size) return
    const added = [...lines.values()].flat()
    this.all.add(added)
    this.calls += added.filter(({ text }) => text.startsWith(CALL)).length
  }

  addLive(pieces: ReadonlyMap<string, LiveText[]>): void {
    for (const [run, added] of pieces) {
      const live = this.live(run)
      for (const piece of added) live.add(piece)
    }
  }

  /** Fetches the live text of a run that came before this page was opened. */
  async loadLive(run: string): Promise<void> {
    const { words } = await get<LiveList>(`/runs/${part(run)}/live`)
    this.live(run).addHistory(words)
  }

  /** Fetches the board's latest events, so that the log on Home isn't empty at first. */
  async loadBoardHistory(): Promise<void> {
    if (this.#hasBoardHistory) return
    this.#hasBoardHistory = true
    try {
      const { seq } = await get<RunDetail>(`/runs/${BOARD}`)
      const after = Math.max(0, seq - BOARD_EVENTS)
      const latest = await get<RecordList>(`/runs/${BOARD}/events?after=${after}`)
      this.all.addMixedHistory(logLines(latest.events))
    } catch {
      this.#hasBoardHistory = false // the log works without; a later visit tries again
    }
  }

  /** The title of the task or run that a line is about, and the line without that name. */
  subjectOf({ run, text }: LogLine): { about: string; text: string } {
    const found = run === BOARD ? taskInLine(text) : undefined
    const task = found && board.task(found.task)
    if (found && task) return { about: task.title, text: found.rest }
    return { about: board.task(taskOfRun(run))?.title || runs.get(run)?.title || run, text }
  }
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  // In a root of its own: made inside a component, it would end with that component.
  let made!: V
  $effect.root(() => {
    made = make()
  })
  map.set(key, made)
  return made
}

export const logs = new Logs()
