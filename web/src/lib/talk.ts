// What was said in a thread, as people read it: folded from its events.

import type { RoomEvent } from './wire'

export interface Said {
  is: 'said'
  key: string
  who: string
  /** Whom it is for, where that is not everybody. */
  to: string
  text: string
  at: number
  usage: RoomEvent['usage']
  /** Its speaker would finish here. */
  suggests: boolean
}

export interface Handed {
  is: 'handed'
  key: string
  to: string
  text: string
}

export interface Told {
  is: 'told'
  key: string
  kind: NonNullable<RoomEvent['kind']>
  text: string
  at: number
  session: string | null
}

export type Entry = Said | Handed | Told

/** What an agent was asked and has not answered yet. */
export interface Call {
  id: string
  agent: string
}

export interface Talk {
  entries: readonly Entry[]
  call: Call | undefined
  /** The latest reply was meant to be the last. */
  suggestion: string
  goal: string
  /** How many events it is made from, and how many of them are replies. */
  count: number
  replies: number
}

export const SILENCE: Talk = {
  entries: [],
  call: undefined,
  suggestion: '',
  goal: '',
  count: 0,
  replies: 0,
}

export function hear(talk: Talk, events: readonly RoomEvent[]): Talk {
  const entries = [...talk.entries]
  let { call, suggestion, goal, count, replies } = talk
  for (const event of events) {
    const key = `${count++}`
    const { text, ts: at } = event
    switch (event.type) {
      case 'human_message':
        if (event.target === 'router') goal = text
        entries.push(said(event, key))
        break
      case 'agent_call':
        call = { id: event.call_id, agent: event.target }
        if (text !== goal && !isRepeated(entries, event))
          entries.push({ is: 'handed', key, to: event.target, text })
        break
      case 'agent_response':
        call = undefined
        suggestion = ''
        replies++
        entries.push(said(event, key))
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
          ...{ is: 'told', key, kind: event.kind ?? 'notice', text, at },
          session: event.session_id,
        })
    }
  }
  return { entries, call, suggestion, goal, count, replies }
}

function said(event: RoomEvent, key: string): Said {
  return {
    ...{ is: 'said', key, who: event.sender, text: event.text, at: event.ts, usage: event.usage },
    to: event.target === 'all' || event.target === 'router' ? '' : event.target,
    suggests: false,
  }
}

/** A call that is tried again was shown already. */
function isRepeated(entries: readonly Entry[], { target, text }: RoomEvent): boolean {
  const last = entries.findLast(({ is }) => is !== 'told')
  return last?.is === 'handed' && last.to === target && last.text === text
}

function markLast(entries: Entry[]): void {
  const at = entries.findLastIndex(({ is }) => is === 'said')
  const entry = entries[at]
  if (entry?.is === 'said') entries[at] = { ...entry, suggests: true }
}

/** What was fetched, and what came meanwhile or later: each event once. */
export function joined(
  history: readonly RoomEvent[],
  later: readonly RoomEvent[],
): readonly RoomEvent[] {
  const last = history.at(-1)?.seq ?? 0
  return [...history, ...later.filter(({ seq }) => seq > last)]
}
