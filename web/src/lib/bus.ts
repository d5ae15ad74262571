// Where a tab gets its events from: the worker that all tabs share, or a stream of its own.

import workerUrl from './bus.worker.ts?sharedworker&url'
import type { Role, Stand } from './picking'
import type { Message } from './sse'
import { Stream, type StreamEnds, type StreamState } from './stream'

export type ToWorker =
  | { say: 'join'; url: string }
  | { say: 'leave' }
  | { say: 'hurry' }
  | { say: 'stand'; stand: Stand }
export type FromWorker = { batch: Message[] } | { state: StreamState } | { role: Role }

export interface BusEnds extends StreamEnds {
  role: (role: Role) => void
}

export interface Bus {
  /** Try to connect now, if it is broken. */
  hurry(): void
  leave(): void
  /** How this tab stands; the answer is its role among all of them. */
  stand(stand: Stand): void
}

export function join(url: string, ends: BusEnds): Bus {
  return typeof SharedWorker === 'undefined' ? alone(url, ends) : shared(url, ends)
}

function shared(url: string, ends: BusEnds): Bus {
  const worker = new SharedWorker(ourScript(workerUrl) as string, {
    type: 'module',
    name: 'allstop',
  })
  const say = (message: ToWorker) => worker.port.postMessage(message)
  worker.port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if ('batch' in data) ends.messages(data.batch)
    else if ('role' in data) ends.role(data.role)
    else ends.state(data.state)
  }
  worker.onerror = () =>
    ends.state({ is: 'broken', since: Date.now(), why: 'the page’s worker failed; reload' })
  const enter = () => say({ say: 'join', url: new URL(url, location.href).href })
  const leave = () => say({ say: 'leave' })
  // A page that is kept for "back" leaves, and joins again when it is shown.
  addEventListener('pagehide', leave)
  addEventListener('pageshow', (event) => event.persisted && enter())
  enter()
  return {
    hurry: () => say({ say: 'hurry' }),
    leave,
    stand: (stand) => say({ say: 'stand', stand }),
  }
}

/** Without shared workers only the tab in sight has a connection. */
export function alone(url: string, ends: BusEnds): Bus {
  const stream = new Stream(url, ends)
  const look = () => (document.hidden ? stream.close() : stream.open())
  document.addEventListener('visibilitychange', look)
  look()
  return {
    hurry: () => stream.hurry(),
    stand: ({ isVisible }) => ends.role({ tells: true, isWatched: isVisible }),
    leave: () => {
      document.removeEventListener('visibilitychange', look)
      stream.close()
    },
  }
}

interface ScriptPolicy {
  createScriptURL(url: string): unknown
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): ScriptPolicy
}

let policy: ScriptPolicy | undefined

/** The page's policy lets scripts in only through here, and only its own. */
function ourScript(url: string): unknown {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes
  if (!types) return url
  policy ??= types.createPolicy('allstop', {
    createScriptURL: (wanted) => {
      if (new URL(wanted, location.href).origin !== location.origin)
        throw new TypeError('a script from elsewhere')
      return wanted
    },
  })
  return policy.createScriptURL(url)
}
