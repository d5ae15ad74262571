// The kind `board`: the one run that starts tasks and merges their work.

import { href } from '../lib/routes'
import RunCard from './RunCard.svelte'
import type { RunKind } from './kind'

export const BOARD_KIND: RunKind = {
  kind: 'board',
  label: 'board',
  page: {
    name: 'board',
    title: 'Board',
    letter: 'b',
    icon: 'board',
    load: () => import('../pages/board/Board.svelte'),
  },
  address: () => href('board'),
  card: RunCard,
  isListed: false,
  announcesEnd: false,
  hasActions: false,
}
