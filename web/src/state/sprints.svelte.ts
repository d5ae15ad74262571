// The sprints of the board: fetched by their page, and kept up to date by the stream.

import { get } from '../lib/api'
import type { SprintList, SprintView } from '../lib/api-types'
import { KeyedStore } from './keyed-store.svelte'

class Sprints {
  #sprints = new KeyedStore<SprintView>()

  /** The newest first. */
  readonly all = $derived(this.#sprints.all.toSorted((a, b) => b.startedAt - a.startedAt))

  get(id: string): SprintView | undefined {
    return this.#sprints.get(id)
  }

  add(sprints: ReadonlyMap<string, SprintView>): void {
    this.#sprints.add(sprints)
  }

  async load(): Promise<void> {
    const { sprints } = await get<SprintList>('/sprints')
    this.#sprints.replace(sprints.map((sprint) => [sprint.id, sprint]))
  }
}

export const sprints = new Sprints()
