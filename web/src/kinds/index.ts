// The kinds of runs: one entry for each. Nothing else in the page compares kinds by name.

import { AUTO_KIND } from './auto'
import { BOARD_KIND } from './board'
import type { RunKind } from './kind'
import { DRAFT_KIND } from './draft'
import { MERGE_KIND } from './merge'
import { PLAN_KIND } from './plan'
import { ROOM_KIND } from './room'
import { TASK_KIND } from './task'
import { unknownKind } from './unknown'

/** In the order in which the navigation shows their pages. */
export const KINDS: readonly RunKind[] = [
  BOARD_KIND,
  PLAN_KIND,
  ROOM_KIND,
  AUTO_KIND,
  TASK_KIND,
  MERGE_KIND,
  DRAFT_KIND,
]

export function kindOf(kind: string | undefined): RunKind {
  return KINDS.find((each) => each.kind === kind) ?? unknownKind(kind ?? '')
}

export type { RunKind }
