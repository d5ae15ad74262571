import { mount, tick, unmount } from 'svelte'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Room } from '../../state/room.svelte'
import Transcript from './Transcript.svelte'

describe('the transcript', () => {
  afterEach(() => vi.unstubAllGlobals())

  it('ignores observers and handlers that call after it was closed', async () => {
    const called: (() => void)[] = []
    class Observer {
      constructor(callback: () => void) {
        called.push(callback)
      }
      observe() {}
      disconnect() {}
    }
    vi.stubGlobal('ResizeObserver', Observer)
    const room = new Room('default')
    const shown = mount(Transcript, { target: document.body, props: { room, summary: undefined } })
    await tick()
    expect(called.length).toBeGreaterThan(0)

    await unmount(shown)
    await tick()

    for (const each of called) expect(each).not.toThrow()
    await expect(shown.show('0')).resolves.toBeUndefined()
  })
})
