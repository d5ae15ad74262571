// Opens the guided start by itself, once, if no agent is configured.

import { get } from '../lib/api'
import type { AgentFinding } from '../lib/api-types'
import { route } from './route.svelte'

let hasChecked = false

export async function openStartWithoutAgents(): Promise<void> {
  if (hasChecked) return
  hasChecked = true
  const found = await get<{ agents: AgentFinding[] }>('/agents').catch(() => undefined)
  if (found && !found.agents.length && route.current.page === 'home') route.go('start')
}
