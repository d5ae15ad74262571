// The kind `task`: one attempt at a task of the board.

import { href } from '../lib/routes'
import RunCard from './RunCard.svelte'
import type { RunKind } from './kind'

export const TASK_KIND: RunKind = {
  kind: 'task',
  label: 'task',
  page: { name: 'task', title: 'Task', load: () => import('../pages/task/Task.svelte') },
  // The task's page is named by the task; one of its attempts is found by its log.
  address: (run) => href('history', run),
  card: RunCard,
  isListed: true,
  announcesEnd: true,
  hasActions: false,
}
