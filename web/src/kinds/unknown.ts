// The entry for a kind that this page doesn't know: a plain card, and the run's log as its page.

import { href } from '../lib/routes'
import GenericCard from './GenericCard.svelte'
import type { RunKind } from './kind'

export function unknownKind(kind: string): RunKind {
  return {
    kind,
    label: kind.replaceAll('_', ' ') || 'run',
    address: (run) => href('history', run),
    card: GenericCard,
    isListed: true,
    announcesEnd: true,
    hasActions: true,
  }
}
