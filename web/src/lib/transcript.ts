// The transcript of a room's thread: entries folded from its events.

import type { RoomEvent } from './api-types'

export interface MessageEntry {
  is: 'message'
  key: string
  who: string
  /** The recipient, if the message is not for everybody. */
  to: string
  text: string
  at: number
  usage: RoomEvent['usage']
  /** The turn of an agent's message. */
  turn: number | null
  /** The speaker suggested to finish. */
  suggestsFinish: boolean
}

export interface HandoffEntry {
  is: 'handoff'
  key: string
  to: string
  text: string
}

export interface NoticeEntry {
  is: 'notice'
  key: string
  kind: NonNullable<RoomEvent['kind']>
  text: string
  at: number
  session: string | null
}

/** The header of a session within the thread. */
export interface SessionEntry {
  is: 'session'
  key: string
  number: number
  session: string | null
  /** "Collaborate: gpt, claude, at most 6 rounds; gpt begins." */
  text: string
  at: number
}

export type Entry = MessageEntry | HandoffEntry | NoticeEntry | SessionEntry

/** An agent's suggestion to finish; it stands until its session ends. */
export interface Suggestion {
  text: string
  who: string
  turn: number | null
  session: string | null
  /** The key of the message. */
  key: string
}

/** A call to an agent that has not answered yet. */
export interface Call {
  id: string
  agent: string
}

export interface Transcript {
  entries: readonly Entry[]
  call: Call | undefined
  suggestion: Suggestion | undefined
  goal: string
  /** How many events were folded, and how many sessions began. */
  count: number
  sessions: number
}

export const EMPTY_TRANSCRIPT: Transcript = {
  entries: [],
  call: undefined,
  suggestion: undefined,
  goal: '',
  count: 0,
  sessions: 0,
}

export function withEvents(transcript: Transcript, events: readonly RoomEvent[]): Transcript {
  const entries = [...transcript.entries]
  let { call, suggestion, goal, count, sessions } = transcript
  for (const event of events) {
    const key = `${count++}`
    const { text, ts: at } = event
    switch (event.type) {
      case 'human_message':
        if (event.target === 'router') {
          goal = text
          suggestion = undefined
          entries.push({
            ...{ is: 'session', key: `s${key}`, number: ++sessions, text: '', at },
            session: event.session_id,
          })
        }
        entries.push(message(event, key))
        break
      case 'agent_call':
        call = { id: event.call_id, agent: event.target }
        if (text !== goal && !isRepeated(entries, event))
          entries.push({ is: 'handoff', key, to: event.target, text })
        break
      case 'agent_response':
        call = undefined
        entries.push(message(event, key))
        break
      case 'system':
        if (event.kind === 'suggestion') {
          suggestion = suggested(entries, event) ?? suggestion
          break
        }
        if (event.kind === 'notice' && hasHeader(entries, event)) break
        if (event.kind === 'ended') suggestion = undefined
        if (event.kind === 'ended' || event.kind === 'warning') call = undefined
        entries.push({
          ...{ is: 'notice', key, kind: event.kind ?? 'notice', text, at },
          session: event.session_id,
        })
    }
  }
  return { entries, call, suggestion, goal, count, sessions }
}

function message(event: RoomEvent, key: string): MessageEntry {
  return {
    ...{
      is: 'message',
      key,
      who: event.sender,
      text: event.text,
      at: event.ts,
      usage: event.usage,
    },
    to: event.target === 'all' || event.target === 'router' ? '' : event.target,
    turn: event.type === 'agent_response' ? event.round : null,
    suggestsFinish: false,
  }
}

/** A repeated call was already shown. */
function isRepeated(entries: readonly Entry[], { target, text }: RoomEvent): boolean {
  const last = entries.findLast(({ is }) => is !== 'notice')
  return last?.is === 'handoff' && last.to === target && last.text === text
}

/** Marks the message that suggests to finish. */
function suggested(entries: Entry[], { text, session_id }: RoomEvent): Suggestion | undefined {
  const at = entries.findLastIndex(({ is }) => is === 'message')
  const entry = entries[at]
  if (entry?.is !== 'message') return undefined
  entries[at] = { ...entry, suggestsFinish: true }
  return { text, who: entry.who, turn: entry.turn, session: session_id, key: entry.key }
}

/** The first notice of a session describes it: its header shows it. */
function hasHeader(entries: Entry[], { text, session_id }: RoomEvent): boolean {
  const at = entries.findLastIndex(({ is }) => is === 'session')
  const entry = entries[at]
  if (entry?.is !== 'session' || entry.text || entry.session !== session_id) return false
  entries[at] = { ...entry, text }
  return true
}

/** Fetched history and later events, each once. */
export function mergedEvents(
  history: readonly RoomEvent[],
  later: readonly RoomEvent[],
): readonly RoomEvent[] {
  const last = history.at(-1)?.seq ?? 0
  return [...history, ...later.filter(({ seq }) => seq > last)]
}
