// Signals in an agent's replies (PROGRESS, BLOCKED, PENDING), read from the lines of its log.

import type { LogLine } from './api-types'

export interface AgentSignal {
  name: 'PROGRESS' | 'BLOCKED' | 'PENDING'
  text: string
  percent?: number
}

const LINE = /^(?:signal: |progress: )?(PROGRESS|BLOCKED|PENDING)\b:? ?(.*)$/
const PROGRESS_NOTE = /^progress: (.*)$/
const PERCENT = /^(\d{1,3}) ?%[ ,:·-]*/

/** The latest signal. COMPLETE at the end of a turn cancels it. */
export function latestSignal(lines: readonly LogLine[]): AgentSignal | undefined {
  for (const line of lines.toReversed()) {
    const found = signalIn(line.text)
    if (found) return found
    if (line.type === 'move_ended' && /^COMPLETE\b/.test(line.text)) return undefined
  }
  return undefined
}

/** Behind the signal a line has, separated by dots, the rest of the reply and its usage. */
function signalIn(line: string): AgentSignal | undefined {
  const [, name, rest = ''] = LINE.exec(line) ?? []
  if (name) return read(name as AgentSignal['name'], rest.split(' · ')[0]!)
  const [, note] = PROGRESS_NOTE.exec(line) ?? []
  return note === undefined ? undefined : read('PROGRESS', note)
}

function read(name: AgentSignal['name'], rest: string): AgentSignal {
  const [head, digits] = PERCENT.exec(rest) ?? []
  if (name !== 'PROGRESS' || !digits) return { name, text: rest }
  return { name, text: rest.slice(head!.length), percent: Math.min(100, Number(digits)) }
}
