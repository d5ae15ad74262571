// The entry of a kind of run: everything the page needs to know about it.

import type { Component } from 'svelte'
import type { RunView } from '../lib/api-types'
import type { PageEntry } from '../pages'

export interface RunKind {
  /** The server's name for it. */
  kind: string
  /** The name that people see. */
  label: string
  /** The page for runs of this kind. Without one their log is shown. */
  page?: PageEntry
  /** The address that shows one run. */
  address: (run: string) => string
  /** The text of a link from the log of a run to that address. */
  link?: string
  /** One row for a run in a list. */
  card: Component<{ run: RunView }>
  /** Whether History lists such runs. */
  isListed: boolean
  /** Whether the end of a run is worth an alert. Runs of the board are announced by their tasks. */
  announcesEnd: boolean
  /** The question in the inbox about a run that no process drives any more. */
  resumePrompt?: string
  /** Whether the run's log offers Pause, Resume and Stop, because no other page does. */
  hasActions: boolean
}
