// Allstop: whether everything is stopped, and the request that stops it.

import { command } from '../lib/api'
import type { HoldView } from '../lib/api-types'
import { stopEverything, type StopState } from '../lib/stop-request'
import { notices } from './notices.svelte'

class Allstop {
  /** The state of this page's own request. */
  request = $state.raw<StopState>({ is: 'ready' })
  /** The server's state; any person may have changed it. */
  hold = $state.raw<HoldView>()

  get isStopped(): boolean {
    return this.hold?.hold === 'stopped'
  }

  stop = async () => {
    if (this.request.is === 'stopping') return
    if (!(await stopEverything((state) => (this.request = state), './api/v1/allstop'))) return
    // The event stream reports it too, but it may be broken.
    const { stops = 0, by = '' } = this.hold ?? {}
    this.hold = { hold: 'stopped', since: new Date().toISOString(), by, stops }
  }

  resume = async () => {
    try {
      await command('all', 'resume')
      this.request = { is: 'ready' }
      if (this.hold) this.hold = { ...this.hold, hold: 'running' }
    } catch (error) {
      notices.error(error)
    }
  }
}

export const allstop = new Allstop()
