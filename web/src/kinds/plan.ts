// The kind `plan`: an agent does the steps of a file in order.

import { href } from '../lib/routes'
import RunCard from './RunCard.svelte'
import type { RunKind } from './kind'

export const PLAN_KIND: RunKind = {
  kind: 'plan',
  label: 'plan',
  page: {
    name: 'plans',
    title: 'Plans',
    letter: 'l',
    icon: 'plans',
    load: () => import('../pages/plans/Plans.svelte'),
  },
  address: (run) => href('plans', run),
  link: 'Plan',
  card: RunCard,
  isListed: true,
  announcesEnd: true,
  hasActions: false,
  resumePrompt: 'Resume interrupted session?',
}
