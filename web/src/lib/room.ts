// Where a room's session stands, read from what was said in it.

import type { RoomEvent } from './wire'

export interface Standing {
  session: string
  isOn: boolean
  /** null in Autopilot, which has no end of its own. */
  most: number | null
  round: number
  turns: number
  tokens: number
  cost_usd: number
  began: number
  last: number
  speaker: string
  /** An agent would like to finish; nobody has said anything since. */
  suggests: boolean
}

export const SUGGESTION = 'Agent suggests finish — press ALLSTOP to end or let them continue.'

/** The latest session; undefined before the first. */
export function standing(events: readonly RoomEvent[]): Standing | undefined {
  let now: Standing | undefined
  for (const event of events) {
    if (event.session_id && event.session_id !== now?.session) now = begun(event)
    if (now && event.session_id === now.session) step(now, event)
  }
  return now
}

function begun(event: RoomEvent): Standing {
  return {
    session: event.session_id!,
    isOn: true,
    most: event.max_rounds ?? null,
    round: 0,
    turns: 0,
    tokens: 0,
    cost_usd: 0,
    began: event.ts,
    last: event.ts,
    speaker: '',
    suggests: false,
  }
}

function step(now: Standing, event: RoomEvent): void {
  now.last = event.ts
  now.round = event.round ?? now.round
  now.most = event.max_rounds ?? null
  if (event.type === 'agent_call') {
    now.speaker = event.target
    now.suggests = false
  } else if (event.type === 'agent_response') {
    now.turns++
    now.speaker = ''
    now.tokens += (event.usage?.input ?? 0) + (event.usage?.output ?? 0)
    now.cost_usd += (event.usage?.cost_microusd ?? 0) / 1e6
  } else if (event.kind === 'suggestion') now.suggests = true
  else if (event.kind === 'ended') now.isOn = false
}

/** "Collab: 2/6", "Autopilot: running (turn 17)". */
export function chip(now: Standing): string {
  if (now.most === null) return `Autopilot: ${now.isOn ? 'running' : 'ended'} (turn ${now.round})`
  return `${now.most === 1 ? 'Single' : 'Collab'}: ${now.turns}/${now.most}`
}

/** What a reply that is still coming in says: of an envelope only its message. */
export function wordsSoFar(text: string): string {
  if (!text.trimStart().startsWith('{')) return text
  const [, inside] = /"message"\s*:\s*"((?:[^"\\]|\\[^])*)/.exec(text) ?? []
  if (inside === undefined) return ''
  const whole = inside.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, '')
  try {
    return JSON.parse(`"${whole.replaceAll('\n', '\\n')}"`) as string
  } catch {
    return whole
  }
}
