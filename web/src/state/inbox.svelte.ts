// The inbox: everything that waits for a person.

import { get } from '../lib/api'
import type { Inbox, Waiting } from '../lib/api-types'

class InboxStore {
  items = $state.raw<Waiting[]>([])

  async refresh(): Promise<void> {
    const inbox = await get<Inbox>('/inbox').catch(() => undefined)
    if (inbox) this.items = inbox.waiting
  }
}

export const inbox = new InboxStore()
