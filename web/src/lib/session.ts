// A session: how one is wished for, and in a few words where it stands.

import type { RoomSummary, SessionView, Summary, TalkMode } from './wire'

export const MODES: readonly { mode: TalkMode; name: string; does: string }[] = [
  { mode: 'single', name: 'Single', does: 'One answer, and one handoff from it.' },
  { mode: 'collaborate', name: 'Collaborate', does: 'They take turns, for so many rounds.' },
  { mode: 'autopilot', name: 'Autopilot', does: 'They take turns until you say Allstop.' },
]

export interface Wish {
  mode: TalkMode
  agents: readonly string[]
  first: string
  max_rounds: number
  respect_final: boolean
}

export function chip(session: SessionView): string {
  if (session.mode === 'autopilot') return `Autopilot: running (turn ${session.round})`
  const name = session.mode === 'single' ? 'Single' : 'Collab'
  return `${name}: ${session.turns}/${session.max_rounds ?? '∞'}`
}

export function isInterrupted({ session, run }: RoomSummary): boolean {
  return session !== null && !run.driven
}

/** For the list of threads. */
export function standing(room: RoomSummary): string {
  if (room.session) return isInterrupted(room) ? 'interrupted' : chip(room.session)
  return room.last ? reasonOf(room.last) : 'nothing was said yet'
}

export function reasonOf({ reason }: Summary): string {
  return reason.replaceAll('_', ' ')
}

/** Seconds that a session has talked, with the turn under way. */
export function talked(session: SessionView, now: number): number {
  const turn = session.began ? (now - Date.parse(session.began)) / 1_000 : 0
  return session.seconds + Math.max(0, turn)
}

/** Who sits there if nobody is chosen: gpt and claude, or the first two there are. */
export function usual(names: readonly string[]): string[] {
  const pair = ['gpt', 'claude'].filter((name) => names.includes(name))
  return pair.length === 2 ? pair : names.slice(0, 2)
}

export function isAllstop(text: string): boolean {
  return text.toLowerCase().replace(/[^\p{L}]/gu, '') === 'allstop'
}

/** Words for the room itself; they are sent as they were typed. */
export function isForRouter(text: string): boolean {
  return isAllstop(text) || /^\s*@router\b/i.test(text)
}

/** The first of these whose name stands in the text behind an @. */
export function addressed(text: string, names: readonly string[]): string | undefined {
  for (const [, found = ''] of text.matchAll(/(?:^|\s)@([\w.-]+)/g)) {
    const name = found.replace(/[.-]+$/, '').toLowerCase()
    const match = names.find((each) => each.toLowerCase() === name)
    if (match) return match
  }
  return undefined
}

/** A wish and a goal as the server takes them. */
export function orderFor(wish: Wish, goal: string, thread: string) {
  const first = addressed(goal, wish.agents) ?? wish.first
  return {
    ...{ kind: 'room', goal, thread, mode: wish.mode, agents: wish.agents },
    ...(first && { first }),
    ...(wish.mode === 'collaborate' && { max_rounds: wish.max_rounds }),
    ...(wish.mode === 'autopilot' && { respect_final: wish.respect_final }),
  }
}

export const THREAD = /^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$/
