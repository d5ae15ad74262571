import { describe, expect, it } from 'vitest'
import { agentsOf, knownAccounts, resetTime, usedShare, windowNote } from './accounts'
import type { AccountView, WindowView } from './api-types'

const NOW = new Date(2026, 10, 18, 12, 0).getTime()
const at = (...parts: [number, number, number, number, number]) => new Date(...parts).toISOString()

const week: WindowView = {
  name: 'week',
  used: 0.58,
  even: 0.49,
  pace: 'ahead',
  resets_at: at(2026, 10, 20, 9, 0),
  text: '',
}
const claude: AccountView = { name: 'max', agents: ['claude'], hold: null, windows: [week] }

describe('accounts', () => {
  it('are shown once something is known of them', () => {
    expect(knownAccounts([claude, { ...claude, windows: [] }])).toEqual([claude])
  })

  it('name the agents that use them', () => {
    expect(agentsOf(claude)).toBe('claude')
    expect(agentsOf({ ...claude, name: 'claude' })).toBe('')
  })
})

describe('windows', () => {
  it('show an unknown share as unknown', () => {
    expect(usedShare(week)).toBe('58 %')
    expect(usedShare({ ...week, used: null })).toBe('unknown')
  })

  it('say pace and reset', () => {
    expect(windowNote(week, NOW)).toMatch(/^ahead of even use; resets \S+ 09:00$/)
    expect(windowNote({ ...week, pace: null, resets_at: null }, NOW)).toBe('')
    expect(windowNote({ ...week, pace: 'behind', resets_at: null }, NOW)).toBe('behind even use')
    expect(windowNote({ ...week, pace: 'even', resets_at: null }, NOW)).toBe('even use')
  })

  it('show a reset of today without the day', () => {
    expect(resetTime(at(2026, 10, 18, 17, 30), NOW)).toBe('17:30')
    expect(resetTime(at(2027, 0, 3, 9, 0), NOW)).toMatch(/ 09:00$/)
  })
})
