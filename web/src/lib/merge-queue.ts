// The words for the merge queue: where a change stands in it, and how large a batch may be.

import type { MergeQueueView } from './api-types'
import { count } from './format'

type Change = MergeQueueView['waiting'][number]
type Batches = MergeQueueView['batches'][number]

interface PlaceStyle {
  mark: string
  word: string
  tone: 'quiet' | 'work' | 'good' | 'attention'
}

export const PLACES: Readonly<Record<Change['place'], PlaceStyle>> = {
  next: { mark: '○', word: 'next', tone: 'quiet' },
  merged: { mark: '●', word: 'merged in', tone: 'work' },
  left_out: { mark: '!', word: 'left out', tone: 'attention' },
  landed: { mark: '✓', word: 'landed', tone: 'good' },
  waiting: { mark: '○', word: 'waiting', tone: 'quiet' },
}

/** "main: at most 8 changes a batch; 1 of the last 50 failed". */
export function batchSize({ target, failed, counted, largest }: Batches): string {
  const size = largest > 1 ? `at most ${largest} changes a batch` : 'one change at a time'
  const why = counted ? `${failed} of the last ${counted} failed` : 'nothing merged yet'
  return `${target}: ${size}; ${why}`
}

/** What is merged, in one line: "3 changes to main". */
export function together(changes: readonly Change[], target: string): string {
  return `${count(changes.length, 'change')} to ${target}`
}
