// The big red button: said until it is heard, whatever else is broken.

import { waitBefore } from './backoff'
import type { Stopped } from './wire'

export type Stop =
  { is: 'ready' } | { is: 'stopping'; tries: number } | { is: 'stopped'; took_ms: number }

const RETRY = { first_ms: 150, most_ms: 2_000 }
const PATIENCE_MS = 4_000

/** Ends when the server has acknowledged it. A tab that is closed meanwhile still sends it. */
export async function stopEverything(
  tell: (stop: Stop) => void,
  url: string,
  body: object = {},
): Promise<void> {
  const began = performance.now()
  for (let tries = 1; ; tries++) {
    tell({ is: 'stopping', tries })
    const stopped = await once(url, JSON.stringify(body))
    if (stopped) {
      const took_ms = stopped.receipt?.took_ms ?? performance.now() - began
      return tell({ is: 'stopped', took_ms })
    }
    await new Promise((resolve) => setTimeout(resolve, waitBefore(tries - 1, RETRY, Math.random())))
  }
}

async function once(url: string, body: string): Promise<Partial<Stopped> | undefined> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
      keepalive: true,
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    if (!answer.ok) return undefined
    return (await answer.json().catch(() => ({}))) as Partial<Stopped>
  } catch {
    return undefined
  }
}
