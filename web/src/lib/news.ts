// What a batch of messages changes, gathered so that a page does each thing once a frame.

import type { AutoView, BoardState, HoldView, LiveText, LogLine } from './wire'
import type { RoomEvent, RoomSummary, RunView, TaskView } from './wire'
import type { Message } from './sse'

export interface News {
  /** The client missed something and must fetch everything again. */
  reset: boolean
  tasks: Map<string, TaskView>
  runs: Map<string, RunView>
  autos: Map<string, AutoView>
  logs: Map<string, LogLine[]>
  live: Map<string, LiveText[]>
  rooms: Map<string, RoomEvent[]>
  talks: Map<string, RoomSummary>
  board: BoardState | undefined
  hold: HoldView | undefined
  inbox: number | undefined
}

export function nothing(): News {
  return {
    reset: false,
    tasks: new Map(),
    runs: new Map(),
    autos: new Map(),
    logs: new Map(),
    live: new Map(),
    rooms: new Map(),
    talks: new Map(),
    board: undefined,
    hold: undefined,
    inbox: undefined,
  }
}

/** Of values the last one counts, of lines all of them, in order. */
export function gather(messages: readonly Message[]): News {
  const news = nothing()
  for (const message of messages) add(news, message)
  return news
}

function add(news: News, { kind, data }: Message): void {
  switch (kind) {
    case 'log':
      return append(news.logs, 'run', data)
    case 'live':
      return append(news.live, 'run', data)
    case 'room':
      return append(news.rooms, 'thread', data)
    case 'talk':
      return put(news.talks, 'thread', data)
    case 'task':
      return put(news.tasks, 'id', data)
    case 'run':
      return put(news.runs, 'id', data)
    case 'auto':
      return put(news.autos, 'run', data)
    case 'board':
      news.board = JSON.parse(data) as BoardState
      return
    case 'hold':
      news.hold = JSON.parse(data) as HoldView
      return
    case 'inbox':
      news.inbox = (JSON.parse(data) as { count: number }).count
      return
    case 'reset':
      news.reset = true
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
