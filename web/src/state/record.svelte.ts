// A run's whole record as lines, kept whole while new ones come in.

import { wholeRecord } from '../lib/fetched'
import { logOf } from '../lib/records'
import type { LogLine } from '../lib/wire'
import { world } from './world.svelte'

export class Lines {
  /** Read through `version`: they are too many to be watched one by one. */
  all: LogLine[] = []
  version = $state(0)
  /** The number of the newest event. */
  last = $state(0)
  trouble = $state.raw<Error>()
  isLoaded = $state(false)

  constructor(readonly run: string) {
    world.log(run) // from now on what happens is kept there
  }

  async load(): Promise<void> {
    try {
      const events = await wholeRecord(this.run)
      this.all = logOf(events)
      this.last = events.at(-1)?.seq ?? 0
      this.trouble = undefined
      this.isLoaded = true
      this.version++
    } catch (error) {
      this.trouble = error as Error
    }
  }

  /** Take what the stream has said since. */
  catchUp(): void {
    const newer = world.log(this.run).lines.all()
    const from = newer.findIndex(({ seq }) => seq > this.last)
    if (!this.isLoaded || from < 0) return
    for (const line of newer.slice(from)) this.all.push(line)
    this.last = this.all.at(-1)!.seq
    this.version++
  }

  /** Where the lines of an event begin, or would. */
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
