// What an agent claims of its task, read from the lines of its log.

import type { LogLine } from './wire'

export interface Claim {
  name: 'PROGRESS' | 'BLOCKED' | 'PENDING'
  text: string
  percent?: number
}

const LINE = /^(?:signal: |progress: )?(PROGRESS|BLOCKED|PENDING)\b:? ?(.*)$/
const TOLD = /^progress: (.*)$/
const PERCENT = /^(\d{1,3}) ?%[ ,:·-]*/

/** The latest one; a turn that ended without one takes it back. */
export function claimOf(lines: readonly LogLine[]): Claim | undefined {
  for (const line of lines.toReversed()) {
    const found = claimIn(line.text)
    if (found) return found
    if (line.type === 'move_ended' && /^COMPLETE\b/.test(line.text)) return undefined
  }
  return undefined
}

/** After a signal a line tells, behind dots, what else was said and used. */
function claimIn(line: string): Claim | undefined {
  const [, name, said = ''] = LINE.exec(line) ?? []
  if (name) return read(name as Claim['name'], said.split(' · ')[0]!)
  const [, told] = TOLD.exec(line) ?? []
  return told === undefined ? undefined : read('PROGRESS', told)
}

function read(name: Claim['name'], said: string): Claim {
  const [head, digits] = PERCENT.exec(said) ?? []
  if (name !== 'PROGRESS' || !digits) return { name, text: said }
  return { name, text: said.slice(head!.length), percent: Math.min(100, Number(digits)) }
}
