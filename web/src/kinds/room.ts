// The kind `room`: a thread in which agents talk.

import { href } from '../lib/routes'
import { threadOf } from '../lib/runs'
import RunCard from './RunCard.svelte'
import type { RunKind } from './kind'

export const ROOM_KIND: RunKind = {
  kind: 'room',
  label: 'room',
  page: {
    name: 'rooms',
    title: 'Rooms',
    letter: 'r',
    icon: 'rooms',
    load: () => import('../pages/rooms/Rooms.svelte'),
  },
  address: (run) => href('rooms', threadOf(run)),
  link: 'Room',
  card: RunCard,
  isListed: true,
  announcesEnd: true,
  hasActions: false,
}
