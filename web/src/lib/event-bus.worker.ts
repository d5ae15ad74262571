// One event stream for all tabs. A browser allows six connections to a server: six tabs with a
// stream each would leave none for requests, Allstop included.

import type { FromWorker, ToWorker } from './event-bus'
import { EventStream, type StreamState } from './event-stream'
import type { Message } from './sse-reader'
import { tabRoles, type TabState } from './tab-roles'

const BATCH_MS = 16

const scope = self as unknown as { onconnect: (event: MessageEvent) => void }
const tabs = new Set<MessagePort>()
const tabStates = new Map<MessagePort, TabState>()
let stream: EventStream | undefined
let state: StreamState = { is: 'connecting' }
let pending: Message[] = []
let timer: ReturnType<typeof setTimeout> | undefined

function broadcast(message: FromWorker): void {
  for (const tab of tabs) tab.postMessage(message)
}

function flush(): void {
  timer = undefined
  broadcast({ batch: pending })
  pending = []
}

function streamFrom(url: string): EventStream {
  return new EventStream(url, {
    messages: (batch) => {
      pending.push(...batch)
      timer ??= setTimeout(flush, BATCH_MS)
    },
    state: (now) => {
      state = now
      broadcast({ state })
    },
  })
}

function assignRoles(): void {
  for (const [tab, role] of tabRoles(tabStates)) tab.postMessage({ role } satisfies FromWorker)
}

function leave(tab: MessagePort): void {
  tabs.delete(tab)
  tabStates.delete(tab)
  assignRoles()
  if (!tabs.size) stream?.close()
}

scope.onconnect = (event) => {
  const tab = event.ports[0]!
  tab.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.type === 'leave') return leave(tab)
    if (data.type === 'reconnect') return stream?.reconnect()
    if (data.type === 'tab_state') {
      tabStates.set(tab, data.state)
      return assignRoles()
    }
    tabs.add(tab)
    tab.postMessage({ state } satisfies FromWorker)
    stream ??= streamFrom(data.url)
    stream.open()
  }
}
