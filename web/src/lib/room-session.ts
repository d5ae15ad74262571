// Sessions of a room: the request for one, and its status in a few words.

import type { RoomSummary, SessionView, Summary, TalkMode } from './api-types'

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

export function isInterrupted({ session, run }: RoomSummary): boolean {
  return session !== null && !run.driven
}

/** The status of a thread, for the list of threads. */
export function threadStatus(room: RoomSummary): string {
  if (room.session) return isInterrupted(room) ? 'interrupted' : statusChip(room.session)
  return room.last ? endReason(room.last) : 'no messages yet'
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

export const THREAD = /^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$/
