// The kind `merge`: brings the work of one task into the target branch.

import { href } from '../lib/routes'
import RunCard from './RunCard.svelte'
import type { RunKind } from './kind'

export const MERGE_KIND: RunKind = {
  kind: 'merge',
  label: 'merge',
  address: (run) => href('history', run),
  card: RunCard,
  isListed: true,
  announcesEnd: true,
  hasActions: false,
}
