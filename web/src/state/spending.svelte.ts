// What was used today, and how much may be.

import { get, post } from '../lib/api'
import type { RunView, Today } from '../lib/wire'
import { world } from './world.svelte'

/** Turns end many times a second when many runs work: nobody reads that fast. */
const EVERY_MS = 2_000

class Spending {
  day = $state<Today>()

  cost_usd = $derived(this.day?.cost_usd ?? 0)
  tokens = $derived(this.day?.tokens ?? 0)
  limit_usd = $derived(this.day?.max_usd ?? 0)

  /** Changes with every turn that ends, and at midnight. */
  sign = $derived(`${world.runs.map(turns).join()} ${new Date(world.now).toDateString()}`)

  #timer: ReturnType<typeof setTimeout> | undefined

  /** Read again soon; many calls together are one. */
  refresh(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.load().catch(() => undefined) // the numbers of before stay
    }, EVERY_MS)
  }

  async load(): Promise<void> {
    this.day = await get<Today>('/day')
  }

  /** Allow more until midnight. */
  async raise(more: { turns?: number; tokens?: number; cost_usd?: number; minutes?: number }) {
    this.day = await post<Today>('/day', more)
  }
}

function turns({ id, tally }: RunView): string {
  return `${id}:${tally.turns ?? 0}:${tally.cost_microusd ?? 0}`
}

export const spending = new Spending()
