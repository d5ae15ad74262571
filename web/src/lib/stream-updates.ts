// Updates from a batch of stream messages, collected so that each store changes once a frame.

import type { AutoView, BoardState, DraftView, HoldView, LiveText, LogLine } from './api-types'
import type { PlanView, RoomEvent, RoomSummary, RunView, SprintView, TaskView } from './api-types'
import type { Message } from './sse-reader'

export interface StreamUpdates {
  /** The stream has a gap: everything must be fetched again. */
  reset: boolean
  tasks: Map<string, TaskView>
  runs: Map<string, RunView>
  autos: Map<string, AutoView>
  plans: Map<string, PlanView>
  drafts: Map<string, DraftView>
  sprints: Map<string, SprintView>
  logs: Map<string, LogLine[]>
  live: Map<string, LiveText[]>
  roomEvents: Map<string, RoomEvent[]>
  roomSummaries: Map<string, RoomSummary>
  board: BoardState | undefined
  hold: HoldView | undefined
  inbox: number | undefined
}

export function noUpdates(): StreamUpdates {
  return {
    reset: false,
    tasks: new Map(),
    runs: new Map(),
    autos: new Map(),
    plans: new Map(),
    drafts: new Map(),
    sprints: new Map(),
    logs: new Map(),
    live: new Map(),
    roomEvents: new Map(),
    roomSummaries: new Map(),
    board: undefined,
    hold: undefined,
    inbox: undefined,
  }
}

/** Keeps the last of values, and all lines in order. Messages of unknown kinds are ignored. */
export function collectUpdates(messages: readonly Message[]): StreamUpdates {
  const updates = noUpdates()
  for (const message of messages) add(updates, message)
  return updates
}

function add(updates: StreamUpdates, { kind, data }: Message): void {
  switch (kind) {
    case 'log':
      return append(updates.logs, 'run', data)
    case 'live':
      return append(updates.live, 'run', data)
    case 'room':
      return append(updates.roomEvents, 'thread', data)
    case 'talk':
      return put(updates.roomSummaries, 'thread', data)
    case 'task':
      return put(updates.tasks, 'id', data)
    case 'run':
      return put(updates.runs, 'id', data)
    case 'auto':
      return put(updates.autos, 'run', data)
    case 'plan':
      return put(updates.plans, 'sessionId', data)
    case 'draft':
      return put(updates.drafts, 'run', data)
    case 'sprint':
      return put(updates.sprints, 'id', data)
    case 'board':
      updates.board = JSON.parse(data) as BoardState
      return
    case 'hold':
      updates.hold = JSON.parse(data) as HoldView
      return
    case 'inbox':
      updates.inbox = (JSON.parse(data) as { count: number }).count
      return
    case 'reset':
      updates.reset = true
  }
}

function put<T, K extends string>(map: Map<string, T>, key: K, data: string): void {
  const value = JSON.parse(data) as T & Record<K, string>
  map.set(value[key], value)
}

function append<T, K extends string>(map: Map<string, T[]>, key: K, data: string): void {
  const value = JSON.parse(data) as T & Record<K, string>
  const row = map.get(value[key])
  if (row) row.push(value)
  else map.set(value[key], [value])
}
