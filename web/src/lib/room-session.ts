// Sessions of a room: the request for one, and its status in a few words.

import type { SessionView, Summary, TalkMode } from './api-types'

export const MODES: readonly { mode: TalkMode; name: string; does: string }[] = [
  { mode: 'single', name: 'Single', does: 'One answer and one handoff.' },
  { mode: 'collaborate', name: 'Collaborate', does: 'Agents take turns for a number of rounds.' },
  { mode: 'autopilot', name: 'Autopilot', does: 'Agents take turns until you say Allstop.' },
]

export interface SessionRequest {
  mode: TalkMode
  agents: readonly string[]
  first: string
  max_rounds: number
  respect_final: boolean
}

/** The status chip: "Collab: 2/6", "Autopilot: running (turn 17)". */
export function statusChip(session: SessionView): string {
  if (session.mode === 'autopilot') return `Autopilot: running (turn ${session.round})`
  const name = session.mode === 'single' ? 'Single' : 'Collab'
  return `${name}: ${session.turns}/${session.max_rounds ?? '∞'}`
}

const ANSWERED: readonly Summary['reason'][] = ['cap_reached', 'final', 'no_handoff']

/** Why a session ended. */
export function endReason({ mode, reason }: Summary): string {
  if (mode === 'single' && ANSWERED.includes(reason)) return 'answered'
  return reason.replaceAll('_', ' ')
}

/** How long a session has worked, with the current turn. */
export function elapsedSeconds(session: SessionView, now: number): number {
  const turn = session.began ? (now - Date.parse(session.began)) / 1_000 : 0
  return session.seconds + Math.max(0, turn)
}

/** The agents of a session if none are chosen: gpt and claude, or the first two. */
export function defaultAgents(names: readonly string[]): string[] {
  const pair = ['gpt', 'claude'].filter((name) => names.includes(name))
  return pair.length === 2 ? pair : names.slice(0, 2)
}

export function isAllstop(text: string): boolean {
  return text.toLowerCase().replace(/[^\p{L}]/gu, '') === 'allstop'
}

/** Whether a message is a command for the room's router and not for an agent. */
export function isForRouter(text: string): boolean {
  return isAllstop(text) || /^\s*@router\b/i.test(text)
}

/** The first of these agents that the text mentions with an @. */
export function mentionedAgent(text: string, names: readonly string[]): string | undefined {
  for (const [, found = ''] of text.matchAll(/(?:^|\s)@([\w.-]+)/g)) {
    const name = found.replace(/[.-]+$/, '').toLowerCase()
    const match = names.find((each) => each.toLowerCase() === name)
    if (match) return match
  }
  return undefined
}

/** The agents in the order of speaking. */
export function speakingOrder({ agents, first }: SessionRequest): string[] {
  const start = Math.max(0, agents.indexOf(first))
  return [...agents.slice(start), ...agents.slice(0, start)]
}

/** The setup in a few words, beside its mode: "gpt → claude · 6 rounds". */
export function setupText(request: SessionRequest): string {
  const speakers = speakingOrder(request).join(' → ') || 'no agents'
  switch (request.mode) {
    case 'single':
      return request.first ? `asks ${request.first}` : speakers
    case 'collaborate':
      return `${speakers} · ${request.max_rounds || 0} round${request.max_rounds === 1 ? '' : 's'}`
    default:
      return `${speakers} · until ${request.respect_final ? 'they finish' : 'you stop it'}`
  }
}

export const MOST_ROUNDS = 1_000

/** What is wrong with a request; the server checks the rest. */
export function setupProblem({ mode, max_rounds }: SessionRequest): string {
  const isRight = Number.isInteger(max_rounds) && max_rounds >= 1 && max_rounds <= MOST_ROUNDS
  return mode !== 'collaborate' || isRight
    ? ''
    : `A session has 1 to ${MOST_ROUNDS.toLocaleString('en')} rounds.`
}

/** The name after the @ that a message starts with, if no agent has it. */
export function unknownAgent(text: string, names: readonly string[]): string | undefined {
  const name = /^@([\w.-]*\w)(?=[\s,:;!?.]|$)/.exec(text.trim())?.[1]
  if (!name || /^router$/i.test(name)) return undefined
  return names.some((each) => each.toLowerCase() === name.toLowerCase()) ? undefined : name
}

/** The body of the API request that starts a session. */
export function sessionBody(request: SessionRequest, goal: string, thread: string) {
  const first = mentionedAgent(goal, request.agents) ?? request.first
  return {
    ...{ kind: 'room', goal, thread, mode: request.mode, agents: request.agents },
    ...(first && { first }),
    ...(request.mode === 'collaborate' && { max_rounds: request.max_rounds }),
    ...(request.mode === 'autopilot' && { respect_final: request.respect_final }),
  }
}
