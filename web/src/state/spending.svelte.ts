// What was used today, and how much may be.

import { get } from '../lib/api'
import type { RunView, SettingList } from '../lib/wire'
import { world } from './world.svelte'

class Spending {
  limit_usd = $state(0)

  #today = $derived.by(() => {
    const midnight = new Date(world.now).setHours(0, 0, 0, 0)
    return world.runs.filter((run) => isCounted(run) && Date.parse(run.opened_at) >= midnight)
  })
  cost_usd = $derived(sum(this.#today, ({ tally }) => (tally.cost_microusd ?? 0) / 1e6))
  tokens = $derived(sum(this.#today, ({ tally }) => (tally.input ?? 0) + (tally.output ?? 0)))

  async load(): Promise<void> {
    const { settings } = await get<SettingList>('/settings')
    const found = settings.find(({ key }) => key === 'budget.day.cost_usd')
    this.limit_usd = typeof found?.value === 'number' ? found.value : 0
  }
}

/** A run's tally includes those below it. The board itself lasts for ever: its runs are counted. */
function isCounted(run: RunView): boolean {
  return run.id !== 'board' && (!run.parent || run.parent === 'board')
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}

export const spending = new Spending()
