// The threads of a room: their order, their titles, their times and the one status of each.

import { clockTime, dayMonth } from './format'
import { oneLine } from './one-line'
import { endReason, statusChip } from './room-session'
import type { RoomSummary } from './api-types'

/** A thread that nobody named: `default`, or one that the button New opened. */
const UNNAMED = /^(?:default|thread-\d+)$/

/** What a thread is about: its first goal; before that, its name if it has one. */
export function threadTitle(thread: string, room: RoomSummary | undefined): string {
  return oneLine(room?.title ?? '') || (UNNAMED.test(thread) ? 'New thread' : oneLine(thread))
}

/** An unused name for the next thread. */
export function newThreadName(known: readonly string[]): string {
  for (let number = known.length + 1; ; number++)
    if (!known.includes(`thread-${number}`)) return `thread-${number}`
}

export function lastChange(room: RoomSummary): number {
  return Date.parse(room.changed_at ?? room.run.opened_at)
}

export interface ThreadGroup {
  name: 'Today' | 'Yesterday' | 'Earlier'
  rooms: RoomSummary[]
}

/** The threads by day, the newest first. */
export function groupThreads(rooms: readonly RoomSummary[], now: number): ThreadGroup[] {
  const groups: ThreadGroup[] = (['Today', 'Yesterday', 'Earlier'] as const).map((name) => ({
    name,
    rooms: [],
  }))
  for (const room of rooms.toSorted((a, b) => lastChange(b) - lastChange(a)))
    groups[Math.min(2, daysAgo(lastChange(room), now))]!.rooms.push(room)
  return groups.filter((group) => group.rooms.length)
}

/** "now", "41 min", "2 h"; yesterday the time of day, earlier the day. */
export function relativeTime(at: number, now: number): string {
  const days = daysAgo(at, now)
  if (days === 1) return clockTime(at)
  if (days > 1) return dayMonth(at)
  const seconds = (now - at) / 1_000
  if (seconds < 60) return 'now'
  return seconds < 3_600 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600)} h`
}

function daysAgo(at: number, now: number): number {
  const midnight = new Date(now).setHours(0, 0, 0, 0)
  if (at >= midnight) return 0
  return at >= new Date(midnight).setDate(new Date(midnight).getDate() - 1) ? 1 : 2
}

/** The one status of a thread, everywhere on the page. */
export interface ThreadStatus {
  is: 'new' | 'running' | 'waiting' | 'held' | 'interrupted' | 'ended'
  words: string
}

export function threadStatus(room: RoomSummary | undefined): ThreadStatus {
  if (!room?.session)
    return room?.last
      ? { is: 'ended', words: endReason(room.last) }
      : { is: 'new', words: 'no messages yet' }
  const { run, session } = room
  if (!run.driven) return { is: 'interrupted', words: `interrupted at turn ${session.round}` }
  if (['paused', 'frozen', 'stopped'].includes(run.status))
    return { is: 'held', words: `${run.status} at turn ${session.round}` }
  const is = run.status === 'waiting' || session.waits_for ? 'waiting' : 'running'
  return { is, words: statusChip(session) }
}
