// Allstop, as the button shows it.

import { stopEverything, type Stop } from '../lib/allstop'
import { command } from '../lib/api'
import { notices } from './notices.svelte'
import { world } from './world.svelte'

class Stopping {
  is = $state.raw<Stop>({ is: 'ready' })
  #begun = false

  /** Whether everything is stopped, by this page or by anybody. */
  get isStopped(): boolean {
    return world.hold?.hold === 'stopped' || (this.is.is === 'stopped' && !this.#begun)
  }

  stop = async () => {
    if (this.#begun) return
    this.#begun = true
    await stopEverything((now) => (this.is = now), './api/v1/allstop')
    this.#begun = false
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
