// Receipts of stops, of everything or of one run, found in the records.

import type { RecordList } from './wire'

export interface Stop {
  key: string
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
export function stopsOf(run: string, records: RecordList['events']): Stop[] {
  return records
    .filter(({ type }) => type === 'halted')
    .map(({ run, seq, event }) => ({ key: `${run} ${seq}`, halted: event as unknown as Halted }))
    .filter(({ halted }) => leftIn(run, halted) !== undefined)
    .map(({ key, halted }) => ({
      key,
      asked_at: halted.asked_at,
      took_ms: halted.took_ms,
      by: halted.by,
      killed: (halted.killed ?? []).map(({ label, pid }) => `${label} (process ${pid})`),
      discarded: halted.discarded ?? [],
      left: leftIn(run, halted) ?? '',
    }))
    .toSorted((a, b) => b.asked_at.localeCompare(a.asked_at))
}

function leftIn(run: string, { runs = {} }: Halted): string | undefined {
  return runs[run] ?? Object.entries(runs).find(([name]) => run.startsWith(`${name}/`))?.[1]
}
