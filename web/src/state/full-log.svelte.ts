// The full log of a run: all lines from the first, with new ones as they come in.

import { fetchEvents } from '../lib/run-events'
import { logLines } from '../lib/run-log'
import type { LogLine } from '../lib/api-types'
import { logs } from './logs.svelte'

export class FullLog {
  /** Readers watch `version`: watching each line would be too slow. */
  all: LogLine[] = []
  version = $state(0)
  /** The number of the newest event. */
  last = $state(0)
  error = $state.raw<Error>()
  isLoaded = $state(false)

  constructor(readonly run: string) {
    logs.of(run) // new lines are collected there from now on
  }

  async load(): Promise<void> {
    try {
      const events = await fetchEvents(this.run)
      this.all = logLines(events)
      this.last = events.at(-1)?.seq ?? 0
      this.error = undefined
      this.isLoaded = true
      this.version++
    } catch (error) {
      this.error = error as Error
    }
  }

  /** Adds the lines that the event stream has delivered since. */
  addNewLines(): void {
    const newer = logs.of(this.run).lines.all()
    const from = newer.findIndex(({ seq }) => seq > this.last)
    if (!this.isLoaded || from < 0) return
    for (const line of newer.slice(from)) this.all.push(line)
    this.last = this.all.at(-1)!.seq
    this.version++
  }

  /** The index of the first line of an event, or of the next one that has lines. */
  indexOf(seq: number): number {
    let low = 0
    let high = this.all.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.all[middle]!.seq < seq) low = middle + 1
      else high = middle
    }
    return low
  }
}
