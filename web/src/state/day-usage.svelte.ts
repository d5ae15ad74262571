// Today's usage and limits.

import { get, post } from '../lib/api'
import type { RunView, Today } from '../lib/api-types'
import { currentTime } from './current-time.svelte'
import { runs } from './runs.svelte'

/** With many runs, turns end many times a second: nobody reads that fast. */
const EVERY_MS = 2_000

class DayUsage {
  day = $state<Today>()

  cost_usd = $derived(this.day?.cost_usd ?? 0)
  partial = $derived(this.day?.partial ?? false)
  tokens = $derived(this.day?.tokens ?? 0)
  limit_usd = $derived(this.day?.max_usd ?? 0)

  /** Changes with every turn that ends, and at midnight. */
  version = $derived(`${runs.all.map(turns).join()} ${new Date(currentTime.now).toDateString()}`)

  #timer: ReturnType<typeof setTimeout> | undefined

  /** Fetches it again soon; several calls become one request. */
  refresh(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.load().catch(() => undefined) // the old numbers stay
    }, EVERY_MS)
  }

  async load(): Promise<void> {
    this.day = await get<Today>('/day')
  }

  /** Raises limits until midnight. */
  async raise(more: { turns?: number; tokens?: number; cost_usd?: number; minutes?: number }) {
    this.day = await post<Today>('/day', more)
  }
}

function turns({ id, tally }: RunView): string {
  return `${id}:${tally.turns ?? 0}:${tally.cost_microusd ?? 0}`
}

export const dayUsage = new DayUsage()
