// The merge queue: fetched again when a task enters or leaves it, or its merge goes on.

import { get } from '../lib/api'
import type { MergeQueueView } from '../lib/api-types'
import { board } from './board.svelte'
import { runs } from './runs.svelte'

class MergeQueueStore {
  view = $state.raw<MergeQueueView>()
  error = $state.raw<Error>()

  /** It changes with the queued tasks, and with the merges under way. */
  version = $derived(
    [
      board.phase,
      ...board.tasks.flatMap(({ id, status }) => (status === 'merging' ? [id] : [])),
      ...runs.all.flatMap(({ id, kind, outcome, reason }) =>
        kind === 'merge' && !outcome ? [id, reason] : [],
      ),
    ].join(' '),
  )

  load = async (): Promise<void> => {
    try {
      this.view = await get<MergeQueueView>('/queue')
      this.error = undefined
    } catch (error) {
      this.error = error as Error
    }
  }
}

export const mergeQueue = new MergeQueueStore()
