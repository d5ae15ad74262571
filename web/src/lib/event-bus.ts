// The event bus of a tab: events come from a worker that all tabs share, or from an own stream.

import workerUrl from './event-bus.worker.ts?sharedworker&url'
import { EventStream, type StreamListeners, type StreamState } from './event-stream'
import type { Message } from './sse-reader'
import type { TabRole, TabState } from './tab-roles'

export type ToWorker =
  | { type: 'join'; url: string }
  | { type: 'leave' }
  | { type: 'reconnect' }
  | { type: 'tab_state'; state: TabState }
export type FromWorker = { batch: Message[] } | { state: StreamState } | { role: TabRole }

export interface BusListeners extends StreamListeners {
  role: (role: TabRole) => void
}

export interface Bus {
  /** Connects at once, if the connection is broken. */
  reconnect(): void
  leave(): void
  /** Reports this tab's state; the bus answers with its role among all tabs. */
  setTabState(state: TabState): void
}

export function join(url: string, listeners: BusListeners): Bus {
  return typeof SharedWorker === 'undefined'
    ? joinAlone(url, listeners)
    : joinShared(url, listeners)
}

function joinShared(url: string, listeners: BusListeners): Bus {
  const worker = new SharedWorker(ownScript(workerUrl) as string, {
    type: 'module',
    name: 'allstop',
  })
  const send = (message: ToWorker) => worker.port.postMessage(message)
  worker.port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if ('batch' in data) listeners.messages(data.batch)
    else if ('role' in data) listeners.role(data.role)
    else listeners.state(data.state)
  }
  worker.onerror = () =>
    listeners.state({
      is: 'broken',
      since: Date.now(),
      why: 'the page’s background worker failed; reload the page',
    })
  const enter = () => send({ type: 'join', url: new URL(url, location.href).href })
  const leave = () => send({ type: 'leave' })
  // A page in the back/forward cache leaves, and joins again when it is shown.
  addEventListener('pagehide', leave)
  addEventListener('pageshow', (event) => event.persisted && enter())
  enter()
  return {
    reconnect: () => send({ type: 'reconnect' }),
    leave,
    setTabState: (state) => send({ type: 'tab_state', state }),
  }
}

/** Without shared workers only the visible tab has a connection. */
export function joinAlone(url: string, listeners: BusListeners): Bus {
  const stream = new EventStream(url, listeners)
  const follow = () => (document.hidden ? stream.close() : stream.open())
  document.addEventListener('visibilitychange', follow)
  follow()
  return {
    reconnect: () => stream.reconnect(),
    setTabState: ({ isVisible }) => listeners.role({ isSpeaker: true, isWatched: isVisible }),
    leave: () => {
      document.removeEventListener('visibilitychange', follow)
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

/** The content security policy admits scripts only through here, and only those of this site. */
function ownScript(url: string): unknown {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes
  if (!types) return url
  policy ??= types.createPolicy('allstop', {
    createScriptURL: (wanted) => {
      if (new URL(wanted, location.href).origin !== location.origin)
        throw new TypeError('The script is from another site.')
      return wanted
    },
  })
  return policy.createScriptURL(url)
}
