// The kind `auto`: a thread of full auto, where one agent works towards a goal.

import { href } from '../lib/routes'
import RunCard from './RunCard.svelte'
import type { RunKind } from './kind'

export const AUTO_KIND: RunKind = {
  kind: 'auto',
  label: 'full auto',
  page: {
    name: 'auto',
    title: 'Full auto',
    letter: 'a',
    icon: 'auto',
    load: () => import('../pages/auto/Auto.svelte'),
  },
  address: (run) => href('auto', run),
  link: 'Thread',
  card: RunCard,
  isListed: true,
  announcesEnd: true,
  hasActions: false,
}
