import { describe, expect, it } from 'vitest'
import { groupThreads, newThreadName, relativeTime, threadStatus, threadTitle } from './threads'
import type { RoomSummary, SessionView, Summary } from './api-types'

const NOW = new Date(2026, 10, 18, 15, 0).getTime()
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const SESSION = {
  ...{ id: 's', mode: 'collaborate', round: 3, max_rounds: 6, turns: 2, waits_for: '' },
} as SessionView

function room(thread: string, more: Partial<RoomSummary> = {}, status = 'idle', driven = true) {
  return {
    ...{ thread, session: null, last: null, title: '', changed_at: null },
    run: { id: `room:${thread}`, status, driven, opened_at: new Date(NOW).toISOString() },
    ...more,
  } as RoomSummary
}

const changed = (thread: string, ago: number) =>
  room(thread, { changed_at: new Date(NOW - ago).toISOString() })

describe('threads', () => {
  it('are titled by their first goal, as text of one line', () => {
    const titled = room('default', { title: '**Name** the\nerrors' })
    expect(threadTitle('default', titled)).toBe('Name the errors')
    expect(threadTitle('thread-2', room('thread-2'))).toBe('New thread')
    expect(threadTitle('ideas', undefined)).toBe('ideas')
  })

  it('are listed by day, the newest first', () => {
    const found = groupThreads(
      [
        changed('old', 90 * HOUR),
        changed('a', HOUR),
        changed('b', MINUTE),
        changed('c', 20 * HOUR),
      ],
      NOW,
    )
    expect(found.map(({ name, rooms }) => [name, rooms.map(({ thread }) => thread)])).toEqual([
      ['Today', ['b', 'a']],
      ['Yesterday', ['c']],
      ['Earlier', ['old']],
    ])
  })

  it('have a relative time', () => {
    const ago = (ms: number) => relativeTime(NOW - ms, NOW)
    expect([ago(0), ago(41 * MINUTE), ago(2 * HOUR)]).toEqual(['now', '41 min', '2 h'])
    expect([ago(20 * HOUR), ago(6 * 24 * HOUR)]).toEqual(['19:00', '12 Nov'])
  })

  it('get unused names', () => {
    expect(newThreadName([])).toBe('thread-1')
    expect(newThreadName(['default', 'thread-3'])).toBe('thread-4')
  })
})

describe('the status of a thread', () => {
  const words = (room: RoomSummary) => threadStatus(room)

  it('is one of running, waiting, held and interrupted while a session is open', () => {
    const open = { session: SESSION }
    expect(words(room('t', open, 'running'))).toEqual({ is: 'running', words: 'Collab: 2/6' })
    expect(words(room('t', open, 'running', false))).toEqual({
      ...{ is: 'interrupted', words: 'interrupted at turn 3' },
    })
    expect(words(room('t', open, 'paused')).words).toBe('paused at turn 3')
    expect(words(room('t', open, 'waiting')).is).toBe('waiting')
    const limited = { session: { ...SESSION, waits_for: 'gpt is limited' } }
    expect(words(room('t', limited, 'running')).is).toBe('waiting')
  })

  it('is the last ending otherwise', () => {
    const last = { mode: 'collaborate', reason: 'stopped_by_user' } as Summary
    expect(words(room('t', { last })).words).toBe('stopped by user')
    expect(threadStatus(undefined).is).toBe('new')
  })
})
