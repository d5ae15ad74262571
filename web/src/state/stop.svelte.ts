// Allstop, as the button shows it.

import { stopEverything, type Stop } from '../lib/allstop'
import { command } from '../lib/api'
import { notices } from './notices.svelte'
import { world } from './world.svelte'

class Stopping {
  is = $state.raw<Stop>({ is: 'ready' })

  /** Whether everything is stopped, by this page or by anybody. */
  get isStopped(): boolean {
    return world.hold?.hold === 'stopped'
  }

  stop = async () => {
    if (this.is.is === 'stopping') return
    if (!(await stopEverything((now) => (this.is = now), './api/v1/allstop'))) return
    // The stream would say so too, if it works.
    const { stops = 0, by = '' } = world.hold ?? {}
    world.hold = { hold: 'stopped', since: new Date().toISOString(), by, stops }
  }

  resume = async () => {
    try {
      await command('all', 'resume')
      this.is = { is: 'ready' }
      if (world.hold) world.hold = { ...world.hold, hold: 'running' }
    } catch (error) {
      notices.failed(error)
    }
  }
}

export const stopping = new Stopping()
