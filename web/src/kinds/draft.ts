// The kind `draft`: an agent writes a plan, which opens in the form for a new plan.

import { href } from '../lib/routes'
import RunCard from './RunCard.svelte'
import type { RunKind } from './kind'

export const DRAFT_KIND: RunKind = {
  kind: 'draft',
  label: 'writes a plan',
  address: (run) => href('plans', '', { draft: run }),
  link: 'Plan',
  card: RunCard,
  isListed: true,
  announcesEnd: true,
  hasActions: true,
}
