// One event stream for all tabs: a browser allows six connections to a server, and six tabs with a
// stream each would leave none for anything else, Allstop included.

import type { FromWorker, ToWorker } from './bus'
import { Stream, type StreamState } from './stream'
import { roles, type Stand } from './picking'
import type { Message } from './sse'

const scope = self as unknown as { onconnect: (event: MessageEvent) => void }
const tabs = new Set<MessagePort>()
const stands = new Map<MessagePort, Stand>()
let stream: Stream | undefined
let state: StreamState = { is: 'connecting' }
let waiting: Message[] = []
let timer: ReturnType<typeof setTimeout> | undefined

function tell(message: FromWorker): void {
  for (const tab of tabs) tab.postMessage(message)
}

function flush(): void {
  timer = undefined
  tell({ batch: waiting })
  waiting = []
}

function streamFrom(url: string): Stream {
  return new Stream(url, {
    messages: (batch) => {
      waiting.push(...batch)
      timer ??= setTimeout(flush, 16)
    },
    state: (now) => {
      state = now
      tell({ state })
    },
  })
}

/** Each tab learns its role: one tells, and all know whether somebody looks. */
function pick(): void {
  for (const [tab, role] of roles(stands)) tab.postMessage({ role } satisfies FromWorker)
}

function leave(tab: MessagePort): void {
  tabs.delete(tab)
  stands.delete(tab)
  pick()
  if (!tabs.size) stream?.close()
}

scope.onconnect = (event) => {
  const tab = event.ports[0]!
  tab.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.say === 'leave') return leave(tab)
    if (data.say === 'hurry') return stream?.hurry()
    if (data.say === 'stand') {
      stands.set(tab, data.stand)
      return pick()
    }
    tabs.add(tab)
    tab.postMessage({ state } satisfies FromWorker)
    stream ??= streamFrom(data.url)
    stream.open()
  }
}
