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

export type Entry = MessageEntry | HandoffEntry | NoticeEntry

/** A call to an agent that has not answered yet. */
export interface Call {
  id: string
  agent: string
}

export interface Transcript {
  entries: readonly Entry[]
  call: Call | undefined
  /** The banner's text, if the latest reply suggested to finish. */
  suggestion: string
  goal: string
  /** How many events were folded, and how many of them are replies. */
  count: number
  replies: number
}

export const EMPTY_TRANSCRIPT: Transcript = {
  entries: [],
  call: undefined,
  suggestion: '',
  goal: '',
  count: 0,
  replies: 0,
}

export function withEvents(transcript: Transcript, events: readonly RoomEvent[]): Transcript {
  const entries = [...transcript.entries]
  let { call, suggestion, goal, count, replies } = transcript
  for (const event of events) {
    const key = `${count++}`
    const { text, ts: at } = event
    switch (event.type) {
      case 'human_message':
        if (event.target === 'router') goal = text
        entries.push(message(event, key))
        break
      case 'agent_call':
        call = { id: event.call_id, agent: event.target }
        if (text !== goal && !isRepeated(entries, event))
          entries.push({ is: 'handoff', key, to: event.target, text })
        break
      case 'agent_response':
        call = undefined
        suggestion = ''
        replies++
        entries.push(message(event, key))
        break
      case 'system':
        if (event.kind === 'suggestion') {
          suggestion = text
          markLast(entries)
          break
        }
        if (event.kind === 'ended') suggestion = ''
        if (event.kind === 'ended' || event.kind === 'warning') call = undefined
        entries.push({
          ...{ is: 'notice', key, kind: event.kind ?? 'notice', text, at },
          session: event.session_id,
        })
    }
  }
  return { entries, call, suggestion, goal, count, replies }
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
    suggestsFinish: false,
  }
}

/** A repeated call was already shown. */
function isRepeated(entries: readonly Entry[], { target, text }: RoomEvent): boolean {
  const last = entries.findLast(({ is }) => is !== 'notice')
  return last?.is === 'handoff' && last.to === target && last.text === text
}

function markLast(entries: Entry[]): void {
  const at = entries.findLastIndex(({ is }) => is === 'message')
  const entry = entries[at]
  if (entry?.is === 'message') entries[at] = { ...entry, suggestsFinish: true }
}

/** Fetched history and later events, each once. */
export function mergedEvents(
  history: readonly RoomEvent[],
  later: readonly RoomEvent[],
): readonly RoomEvent[] {
  const last = history.at(-1)?.seq ?? 0
  return [...history, ...later.filter(({ seq }) => seq > last)]
}
