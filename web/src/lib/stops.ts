// Receipts of stops, found in the record of what was said to all runs.

import type { RecordList } from './wire'

export interface Stop {
  seq: number
  asked_at: string
  took_ms: number
  by: string
  killed: string[]
  discarded: string[]
  /** What state the run was left in. */
  left: string
}

interface Halted {
  asked_at: string
  took_ms: number
  by: string
  killed?: { label: string; pid: number }[]
  discarded?: string[]
  runs?: Record<string, string>
}

/** The newest first. A run that is part of another was stopped with it. */
export function stopsOf(run: string, helm: RecordList['events']): Stop[] {
  return helm
    .filter(({ type }) => type === 'halted')
    .map(({ seq, event }) => ({ seq, halted: event as unknown as Halted }))
    .filter(({ halted }) => leftIn(run, halted) !== undefined)
    .map(({ seq, halted }) => ({
      seq,
      asked_at: halted.asked_at,
      took_ms: halted.took_ms,
      by: halted.by,
      killed: (halted.killed ?? []).map(({ label, pid }) => `${label} (process ${pid})`),
      discarded: halted.discarded ?? [],
      left: leftIn(run, halted) ?? '',
    }))
    .toReversed()
}

function leftIn(run: string, { runs = {} }: Halted): string | undefined {
  return runs[run] ?? Object.entries(runs).find(([name]) => run.startsWith(`${name}/`))?.[1]
}
