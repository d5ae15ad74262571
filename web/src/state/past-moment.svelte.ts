// The past state of a run at an event that a slider selects. While one state is being fetched,
// events that the slider only passes are not requested.

import { get, part } from '../lib/api'
import type { MomentView } from '../lib/api-types'

/** States kept in memory. */
const MOST = 500

export class PastMoment {
  moment = $state.raw<MomentView>()
  error = $state.raw<Error>()
  #known = new Map<number, MomentView>()
  #wanted = 0
  #isBusy = false

  constructor(readonly run: string) {}

  show(seq: number): void {
    this.#wanted = seq
    if (!this.#isBusy && seq) void this.#fetchWanted()
  }

  async #fetchWanted(): Promise<void> {
    this.#isBusy = true
    try {
      while (this.moment?.seq !== this.#wanted) this.moment = await this.#at(this.#wanted)
      this.error = undefined
    } catch (error) {
      this.error = error as Error
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
