// The setup of the next session in a room: mode, agents, first speaker, rounds.

import { get } from '../lib/api'
import { defaultAgents, MODES, type SessionRequest } from '../lib/room-session'
import { valueText } from '../lib/settings'
import { stored } from './stored'
import type { AgentFinding, AgentList, SettingList, TalkMode } from '../lib/api-types'

class SessionSetup {
  agents = $state.raw<AgentFinding[]>([])
  isLoaded = $state(false)
  mode = $state<TalkMode>('collaborate')
  chosen = $state.raw<readonly string[]>([])
  max_rounds = $state(6)
  respect_final = $state(false)
  /** The commands that work must pass, in words; '' if there are none. */
  checks = $state('')
  #first = $state('')

  /** The chosen agents, in the order of allstop.toml. */
  participants = $derived(
    this.agents.map(({ name }) => name).filter((name) => this.chosen.includes(name)),
  )
  first = $derived(
    this.participants.includes(this.#first) ? this.#first : (this.participants[0] ?? ''),
  )
  unready = $derived(this.agents.filter(({ name, ready }) => !ready && this.chosen.includes(name)))

  get request(): SessionRequest {
    const { mode, participants, first, max_rounds, respect_final } = this
    return { mode, agents: participants, first, max_rounds, respect_final }
  }

  setFirst(name: string): void {
    this.#first = name
  }

  choose(name: string, isChosen: boolean): void {
    this.chosen = isChosen ? [...this.chosen, name] : this.chosen.filter((each) => each !== name)
  }

  nextMode(): void {
    const at = MODES.findIndex(({ mode }) => mode === this.mode)
    this.mode = MODES[(at + 1) % MODES.length]!.mode
  }

  /** Fetches agents and defaults; the person's own choice is kept. */
  async load(): Promise<void> {
    const [{ agents }, { settings }] = await Promise.all([
      get<AgentList>('/agents'),
      get<SettingList>('/settings'),
    ])
    this.agents = agents
    const names = agents.map(({ name }) => name)
    if (!this.isLoaded || !this.participants.length) this.chosen = defaultAgents(names)
    if (this.isLoaded) return
    const value = (key: string) => settings.find((row) => row.key === key)?.value
    this.max_rounds = Number(value('room.max_rounds') ?? 6)
    this.respect_final = value('room.respect_final') === true
    const checks = value('verification.commands')
    this.checks = Array.isArray(checks) && checks.length ? valueText(checks) : ''
    this.#restore()
    this.isLoaded = true
    $effect.root(() => {
      $effect(() => stored.set(NAME, this.request))
    })
  }

  /** The person's last choice in this browser, as far as it still fits. */
  #restore(): void {
    const last = stored.get<Partial<SessionRequest>>(NAME) ?? {}
    if (MODES.some(({ mode }) => mode === last.mode)) this.mode = last.mode!
    const known = this.agents.map(({ name }) => name)
    const agents = last.agents?.filter((name) => known.includes(name)) ?? []
    if (agents.length) this.chosen = agents
    if (last.first) this.#first = last.first
    if (Number.isInteger(last.max_rounds)) this.max_rounds = last.max_rounds!
    if (typeof last.respect_final === 'boolean') this.respect_final = last.respect_final
  }
}

const NAME = 'session'

export const sessionSetup = new SessionSetup()
