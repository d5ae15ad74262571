// The latest log lines of one run, or of all runs together.

import type { LogLine } from '../lib/api-types'
import { RingBuffer } from '../lib/ring-buffer'

/** How many lines a log keeps. */
export const LOG_LINES = 5_000

/** Readers watch `version`: watching each of so many lines would be too slow. */
export class Log {
  lines = new RingBuffer<LogLine>(LOG_LINES)
  version = $state(0)

  add(lines: readonly LogLine[]): void {
    this.lines.push(...lines)
    this.version++
  }

  /** Puts older lines in front. They were fetched while newer ones were already coming in. */
  addHistory(history: readonly LogLine[]): void {
    const last = history.at(-1)?.seq ?? 0
    const later = this.lines.all().filter(({ seq }) => seq > last)
    this.lines = new RingBuffer(LOG_LINES)
    this.add([...history, ...later])
  }

  /** The same for a log with lines of many runs, whose numbers can't be compared. */
  addMixedHistory(history: readonly LogLine[]): void {
    const lines = this.lines.all()
    const known = new Set(lines.map(({ run, seq }) => `${run} ${seq}`))
    this.lines = new RingBuffer(LOG_LINES)
    this.add([...history.filter(({ run, seq }) => !known.has(`${run} ${seq}`)), ...lines])
  }
}
