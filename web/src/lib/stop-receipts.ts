// Receipts of stops: found in the events of a run, of its parent and of the helm.

import type { RecordList } from './api-types'

export interface StopReceipt {
  key: string
  asked_at: string
  took_ms: number
  by: string
  killed: string[]
  discarded: string[]
  /** The status in which the stop left the run. */
  status: string
}

interface Halted {
  asked_at: string
  took_ms: number
  by: string
  killed?: { label: string; pid: number }[]
  discarded?: string[]
  runs?: Record<string, string>
}

/** The newest first. A stop of a run also stops the runs below it. */
export function stopReceipts(run: string, records: RecordList['events']): StopReceipt[] {
  return records
    .filter(({ type }) => type === 'halted')
    .map(({ run, seq, event }) => ({ key: `${run} ${seq}`, halted: event as unknown as Halted }))
    .filter(({ halted }) => statusIn(run, halted) !== undefined)
    .map(({ key, halted }) => ({
      key,
      asked_at: halted.asked_at,
      took_ms: halted.took_ms,
      by: halted.by,
      killed: (halted.killed ?? []).map(({ label, pid }) => `${label} (process ${pid})`),
      discarded: halted.discarded ?? [],
      status: statusIn(run, halted) ?? '',
    }))
    .toSorted((a, b) => b.asked_at.localeCompare(a.asked_at))
}

function statusIn(run: string, { runs = {} }: Halted): string | undefined {
  return runs[run] ?? Object.entries(runs).find(([name]) => run.startsWith(`${name}/`))?.[1]
}
