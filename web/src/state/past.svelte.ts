// A run as it stood at the moment a slider is at. While one moment is on its way, those that are
// only passed by are not asked for.

import { get, part } from '../lib/api'
import type { MomentView } from '../lib/wire'

const MOST = 500

export class Past {
  moment = $state.raw<MomentView>()
  trouble = $state.raw<Error>()
  #known = new Map<number, MomentView>()
  #wanted = 0
  #isBusy = false

  constructor(readonly run: string) {}

  go(seq: number): void {
    this.#wanted = seq
    if (!this.#isBusy && seq) void this.#arrive()
  }

  async #arrive(): Promise<void> {
    this.#isBusy = true
    try {
      while (this.moment?.seq !== this.#wanted) this.moment = await this.#at(this.#wanted)
      this.trouble = undefined
    } catch (error) {
      this.trouble = error as Error
    } finally {
      this.#isBusy = false
    }
  }

  async #at(seq: number): Promise<MomentView> {
    const known = this.#known.get(seq)
    if (known) return known
    const found = await get<MomentView>(`/runs/${part(this.run)}/at?seq=${seq}`)
    if (this.#known.size >= MOST) this.#known.clear()
    this.#known.set(seq, found)
    return found
  }
}
