// The request that stops everything, or one run. It is repeated until the server has answered.

import type { Stopped } from './api-types'
import { waitBefore } from './backoff'

export type StopState =
  | { is: 'ready' }
  | { is: 'stopping'; attempt: number }
  /** Processes of other machines that had not answered by then. */
  | { is: 'stopped'; took_ms: number; unreached: string[] }
  /** This browser is signed out: repeating the request would change nothing. */
  | { is: 'refused' }

const RETRY = { first_ms: 150, most_ms: 2_000 }
const TIMEOUT_MS = 4_000

/** After so many attempts without an answer the page names another way. */
export const MANY_ATTEMPTS = 3

type Answer = { was: 'accepted'; stopped: Partial<Stopped> } | { was: 'refused' } | { was: 'lost' }

/** Sends the request once. */
export type Send = (url: string, body: string) => Promise<Answer>

/**
 * Repeats the request until the server accepts it or refuses this browser. Returns whether it was
 * accepted. A tab that is closed meanwhile still sends it.
 */
export async function stopEverything(
  report: (state: StopState) => void,
  url: string,
  body: object = {},
  send: Send = sendOnce,
): Promise<boolean> {
  const began = performance.now()
  for (let attempt = 1; ; attempt++) {
    report({ is: 'stopping', attempt })
    const answer = await send(url, JSON.stringify(body))
    if (answer.was === 'accepted') {
      const took_ms = answer.stopped.receipt?.took_ms ?? performance.now() - began
      report({ is: 'stopped', took_ms, unreached: answer.stopped.unreached ?? [] })
      return true
    }
    if (answer.was === 'refused') {
      report({ is: 'refused' })
      return false
    }
    const wait_ms = waitBefore(attempt - 1, RETRY, Math.random())
    await new Promise((resolve) => setTimeout(resolve, wait_ms))
  }
}

/** The text beside the button; commands in it stand between backticks. */
export function stopLabel(state: StopState): string {
  switch (state.is) {
    case 'stopping':
      if (state.attempt < 2) return 'Stopping…'
      return state.attempt < MANY_ATTEMPTS
        ? `Stopping… (attempt ${state.attempt})`
        : `No answer yet (attempt ${state.attempt}). Run \`allstop stop\` in a terminal.`
    case 'refused':
      return 'Signed out. Run `allstop stop` in a terminal.'
    case 'stopped':
      return `Stopped in ${Math.round(state.took_ms)} ms${silentText(state.unreached)}`
    case 'ready':
      return ''
  }
}

function silentText(unreached: string[]): string {
  if (!unreached.length) return ''
  return `. No answer from ${unreached.join(', ')}: it ends its agents within its lease.`
}

/** Only a browser that is signed out is refused; any other failure may be over at the next try. */
export function outcomeOf({ ok, status }: Pick<Response, 'ok' | 'status'>): Answer['was'] {
  if (ok) return 'accepted'
  return status === 401 ? 'refused' : 'lost'
}

/**
 * The key that stops everything without the cookie, which a page on another port can replace. The
 * server sends it with its answers.
 */
let stopKey = ''

export function keepStopKey({ headers }: Pick<Response, 'headers'>): void {
  stopKey = headers.get('x-allstop-stop-key') ?? stopKey
}

function credentials(): RequestInit {
  const json = { 'Content-Type': 'application/json' }
  if (!stopKey) return { headers: json }
  return { headers: { ...json, Authorization: `Bearer ${stopKey}` }, credentials: 'omit' }
}

async function sendOnce(url: string, body: string): Promise<Answer> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      ...(url.endsWith('/allstop')
        ? credentials()
        : { headers: { 'Content-Type': 'application/json' } }),
      body,
      keepalive: true,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const was = outcomeOf(answer)
    if (was !== 'accepted') return { was }
    return { was, stopped: (await answer.json().catch(() => ({}))) as Partial<Stopped> }
  } catch {
    return { was: 'lost' }
  }
}
