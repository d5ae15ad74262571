// Exponential backoff with jitter: how long to wait before the next attempt.

export interface Backoff {
  first_ms: number
  most_ms: number
}

/** `random`, between 0 and 1, keeps pages from trying in step. */
export function waitBefore(attempt: number, backoff: Backoff, random: number): number {
  const longest = Math.min(backoff.most_ms, backoff.first_ms * 2 ** Math.min(attempt, 30))
  return Math.round(longest * (0.5 + random / 2))
}
