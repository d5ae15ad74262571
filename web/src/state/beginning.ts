// The guided start comes by itself, once, where nobody could work yet.

import { get } from '../lib/api'
import type { AgentFinding } from '../lib/wire'
import { route } from './route.svelte'

let hasLooked = false

export async function beginIfNobodyWorks(): Promise<void> {
  if (hasLooked) return
  hasLooked = true
  const found = await get<{ agents: AgentFinding[] }>('/agents').catch(() => undefined)
  if (found && !found.agents.length && route.is.page === 'home') route.go('start')
}
