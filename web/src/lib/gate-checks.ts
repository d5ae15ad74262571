// The checks of a gate: their state, read from the lines of a gate in progress.

export type CheckState = 'passed' | 'running' | 'waiting' | 'failed' | 'timeout'

export interface CheckLine {
  name: string
  state: CheckState
  /** "42s / 600s", if known. */
  time: string
  /** Whether the gate fails if this check fails. Lines of passed checks don't say. */
  required: boolean
}

/** Why a check did not pass. */
export interface CheckFailure {
  name: string
  /** "exit code 2", "timed out". */
  verdict: string
  seconds: number
  /** The end of its output. */
  output: string
}

const LINE =
  /^[✓●○✗⚠] (.+) (passed|running|waiting|failed with exit code \d+|TIMEOUT|could not be run)(?: \((.+?)\))?(, not required)?$/u

export function readCheck(line: string): CheckLine | undefined {
  const [, name, word, time, optional] = LINE.exec(line.trim()) ?? []
  if (!name || !word) return undefined
  return { name, state: STATES[word] ?? 'failed', time: time ?? '', required: !optional }
}

/** Live text joins several lines without a separator. */
export function readChecks(lines: string): CheckLine[] {
  return lines.split(/(?=[✓●○✗⚠] )/u).flatMap((line) => readCheck(line) ?? [])
}

const STATES: Record<string, CheckState> = {
  passed: 'passed',
  running: 'running',
  waiting: 'waiting',
  TIMEOUT: 'timeout',
}

/** When the first check runs again, the gate has started over. */
export function withCheck(gate: readonly CheckLine[], line: CheckLine): CheckLine[] {
  const at = gate.findIndex((known) => known.name === line.name)
  if (at < 0) return [...gate, line]
  const begins = at === 0 && line.state === 'running' && gate[0]!.state !== 'running'
  if (begins)
    return [
      line,
      ...gate.slice(1).map((check) => ({ ...check, state: 'waiting' as const, time: '' })),
    ]
  return gate.map((known, index) => (index === at ? line : known))
}

export const markOf = ({ state, required }: CheckLine): string => (required ? MARKS[state] : '⚠')

const MARKS: Record<CheckState, string> = {
  passed: '✓',
  running: '●',
  waiting: '○',
  failed: '✗',
  timeout: '✗',
}
