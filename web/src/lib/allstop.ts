// The big red button: said until it is heard, whatever else is broken.

import { waitBefore } from './backoff'
import type { Stopped } from './wire'

export type Stop =
  | { is: 'ready' }
  | { is: 'stopping'; tries: number }
  | { is: 'stopped'; took_ms: number }
  /** The server knows this browser no longer: to say it again would change nothing. */
  | { is: 'refused' }

const RETRY = { first_ms: 150, most_ms: 2_000 }
const PATIENCE_MS = 4_000

/** So often it was not heard that the person should know another way. */
export const MANY_TRIES = 3

type Answer = { was: 'heard'; stopped: Partial<Stopped> } | { was: 'refused' } | { was: 'lost' }

/** Sends it once. */
export type Send = (url: string, body: string) => Promise<Answer>

/**
 * Ends when the server has acknowledged it, or refuses this browser; whether everything is stopped.
 * A tab that is closed meanwhile still sends it.
 */
export async function stopEverything(
  tell: (stop: Stop) => void,
  url: string,
  body: object = {},
  send: Send = once,
): Promise<boolean> {
  const began = performance.now()
  for (let tries = 1; ; tries++) {
    tell({ is: 'stopping', tries })
    const answer = await send(url, JSON.stringify(body))
    if (answer.was === 'heard') {
      const took_ms = answer.stopped.receipt?.took_ms ?? performance.now() - began
      tell({ is: 'stopped', took_ms })
      return true
    }
    if (answer.was === 'refused') {
      tell({ is: 'refused' })
      return false
    }
    await new Promise((resolve) => setTimeout(resolve, waitBefore(tries - 1, RETRY, Math.random())))
  }
}

/** What the button says beside it while a stop is under way, or could not be said. */
export function stopWords(stop: Stop): string {
  switch (stop.is) {
    case 'stopping':
      if (stop.tries < 2) return 'stopping…'
      return stop.tries < MANY_TRIES
        ? `stopping… (try ${stop.tries})`
        : `not heard yet (try ${stop.tries}): run \`allstop stop\` in a terminal`
    case 'refused':
      return 'signed out: run `allstop stop` in a terminal'
    case 'stopped':
      return `stopped in ${Math.round(stop.took_ms)} ms`
    case 'ready':
      return ''
  }
}

/** Only who is not known has to sign in first; what else is wrong may be over with the next try. */
export function outcomeOf({ ok, status }: Pick<Response, 'ok' | 'status'>): Answer['was'] {
  if (ok) return 'heard'
  return status === 401 ? 'refused' : 'lost'
}

async function once(url: string, body: string): Promise<Answer> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
      keepalive: true,
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const was = outcomeOf(answer)
    if (was !== 'heard') return { was }
    return { was, stopped: (await answer.json().catch(() => ({}))) as Partial<Stopped> }
  } catch {
    return { was: 'lost' }
  }
}
