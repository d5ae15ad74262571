// How long to wait before trying again: longer each time, never in step with other pages.

export interface Backoff {
  first_ms: number
  most_ms: number
}

/** `chance` is between 0 and 1. */
export function waitBefore(attempt: number, backoff: Backoff, chance: number): number {
  const longest = Math.min(backoff.most_ms, backoff.first_ms * 2 ** Math.min(attempt, 30))
  return Math.round(longest * (0.5 + chance / 2))
}
