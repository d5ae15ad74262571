// Accounts of agents: until when they are held, and how much of their windows is used.

import type { AccountView, WindowView } from './api-types'
import { clockTime, dayMonth } from './format'
import { plain } from './terminal-text'

const PACE = { ahead: 'ahead of even use', even: 'even use', behind: 'behind even use' }
const DAY_MS = 24 * 3600 * 1000

/** Those of which something is known. */
export function knownAccounts(accounts: readonly AccountView[]): AccountView[] {
  return accounts.filter(({ hold, windows }) => hold || windows.length)
}

/** A time of today, else the day and the time. */
export function resetTime(at: string, now: number): string {
  const then = new Date(at).getTime()
  const time = clockTime(then)
  if (new Date(then).toDateString() === new Date(now).toDateString()) return time
  const isNear = then > now && then - now < 6 * DAY_MS
  const day = isNear
    ? new Date(then).toLocaleDateString('en-GB', { weekday: 'short' })
    : dayMonth(then)
  return `${day} ${time}`
}

/** The used share in words; unknown is never 0. */
export function usedShare({ used }: WindowView): string {
  return used === null || used === undefined ? 'unknown' : `${Math.round(used * 100)} %`
}

/** The pace and the reset of a window. */
export function windowNote({ pace, resets_at }: WindowView, now: number): string {
  const parts: string[] = []
  if (pace) parts.push(PACE[pace])
  if (resets_at) parts.push(`resets ${resetTime(resets_at, now)}`)
  return parts.join('; ')
}

/** The agents of an account, if they have other names. */
export function agentsOf({ name, agents }: AccountView): string {
  const others = agents.filter((agent) => agent !== name)
  return others.map(plain).join(', ')
}
