// The review queue: fetched when a task enters or leaves review.

import { get } from '../lib/api'
import type { QueuedReview, ReviewQueue } from '../lib/api-types'
import { board } from './board.svelte'

class ReviewQueueStore {
  rows = $state.raw<readonly QueuedReview[]>([])
  isLoaded = $state(false)
  error = $state.raw<Error>()

  /** It changes with the tasks in review and their attempts. */
  version = $derived(
    board.tasks
      .filter(({ status }) => status === 'review')
      .map(({ id, attempts }) => `${id} ${attempts?.length ?? 0}`)
      .join(),
  )

  load = async (): Promise<void> => {
    try {
      this.rows = (await get<ReviewQueue>('/review')).tasks
      this.error = undefined
      this.isLoaded = true
    } catch (error) {
      this.error = error as Error
    }
  }

  /** Leaves out a decided task at once; the server's list follows. */
  remove(id: string): void {
    this.rows = this.rows.filter((row) => row.id !== id)
  }
}

export const reviewQueue = new ReviewQueueStore()
