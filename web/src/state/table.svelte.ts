// Who can sit in a room, and what a person wishes of the next session.

import { get } from '../lib/api'
import { usual, type Wish } from '../lib/session'
import type { AgentFinding, AgentList, SettingList, TalkMode } from '../lib/wire'

class Table {
  agents = $state.raw<AgentFinding[]>([])
  isLoaded = $state(false)
  mode = $state<TalkMode>('collaborate')
  chosen = $state.raw<readonly string[]>([])
  max_rounds = $state(6)
  respect_final = $state(false)
  #first = $state('')

  /** In the order of their seats. */
  seated = $derived(
    this.agents.map(({ name }) => name).filter((name) => this.chosen.includes(name)),
  )
  first = $derived(this.seated.includes(this.#first) ? this.#first : (this.seated[0] ?? ''))
  unready = $derived(this.agents.filter(({ name, ready }) => !ready && this.chosen.includes(name)))

  get wish(): Wish {
    const { mode, seated, first, max_rounds, respect_final } = this
    return { mode, agents: seated, first, max_rounds, respect_final }
  }

  begins(name: string): void {
    this.#first = name
  }

  seat(name: string, isThere: boolean): void {
    this.chosen = isThere ? [...this.chosen, name] : this.chosen.filter((each) => each !== name)
  }

  /** What a person has chosen before is kept. */
  async load(): Promise<void> {
    const [{ agents }, { settings }] = await Promise.all([
      get<AgentList>('/agents'),
      get<SettingList>('/settings'),
    ])
    this.agents = agents
    const names = agents.map(({ name }) => name)
    if (!this.isLoaded || !this.seated.length) this.chosen = usual(names)
    if (this.isLoaded) return
    const value = (key: string) => settings.find((row) => row.key === key)?.value
    this.max_rounds = Number(value('room.max_rounds') ?? 6)
    this.respect_final = value('room.respect_final') === true
    this.isLoaded = true
  }
}

export const table = new Table()
