// What is worth a sound or a notification: the difference between what was known and what is.

import { href } from './routes'
import type { RunView, TaskView, Waiting } from './wire'

export type Occasion =
  'needs_you' | 'failed' | 'finished' | 'all_done' | 'limited' | 'paused' | 'resumed'

export interface Tiding {
  occasion: Occasion
  /** Told once: a browser shows one of a name. */
  name: string
  title: string
  text: string
  to: string
}

export interface Known {
  waiting: ReadonlyMap<string, Waiting>
  tasks: ReadonlyMap<string, TaskView>
  runs: ReadonlyMap<string, RunView>
  phase: string
}

export function known(
  waiting: readonly Waiting[],
  tasks: readonly TaskView[],
  runs: readonly RunView[],
  phase: string,
): Known {
  return {
    waiting: new Map(waiting.map((each) => [nameOf(each), each])),
    tasks: new Map(tasks.map((each) => [each.id, each])),
    runs: new Map(runs.map((each) => [each.id, each])),
    phase,
  }
}

/** The same thing may come to wait as a task and as its run, and at another time after a restart. */
function nameOf({ id, kind, task, run, text }: Waiting): string {
  const isAsk = kind === 'leave' || kind === 'question'
  return isAsk ? id : `${task || run} ${kind} ${text}`
}

/** In the order of how much they matter. */
export function tidings(before: Known, now: Known): Tiding[] {
  return [
    ...added(before.waiting, now.waiting).map(ofWaiting),
    ...ended(before.runs, now.runs).map(ofRun),
    ...done(before.tasks, now.tasks).map(ofTask),
    ...ofLimits(limited(before.runs), limited(now.runs)),
    ...ofPhase(before.phase, now.phase),
  ]
}

function added<T>(before: ReadonlyMap<string, T>, now: ReadonlyMap<string, T>): T[] {
  return [...now].filter(([name]) => !before.has(name)).map(([, value]) => value)
}

/** Only of runs that were seen under way; those of tasks are told by their tasks. */
function ended(before: Known['runs'], now: Known['runs']): RunView[] {
  return [...now.values()].filter((run) => {
    const earlier = before.get(run.id)
    return earlier && !earlier.outcome && run.outcome && !run.parent && run.id !== 'board'
  })
}

function done(before: Known['tasks'], now: Known['tasks']): TaskView[] {
  return [...now.values()].filter((task) => {
    const earlier = before.get(task.id)
    return earlier && earlier.status !== 'done' && task.status === 'done'
  })
}

function ofWaiting(waiting: Waiting): Tiding {
  const what = waiting.title || waiting.task || waiting.run
  const isFailed = waiting.kind === 'failed' || waiting.kind === 'blocked'
  return {
    occasion: isFailed ? 'failed' : 'needs_you',
    name: nameOf(waiting),
    title: `${isFailed ? 'Failed' : 'Needs you'}: ${what}`,
    text: waiting.text === what ? '' : waiting.text,
    to: href('inbox'),
  }
}

function ofRun(run: RunView): Tiding {
  const isGood = run.outcome === 'done'
  return {
    occasion: isGood ? 'finished' : 'failed',
    name: run.id,
    title: `${isGood ? 'Finished' : `Ended (${run.outcome})`}: ${run.title || run.id}`,
    text: run.reason,
    to: href('history', run.id),
  }
}

function ofTask(task: TaskView): Tiding {
  return {
    occasion: 'finished',
    name: task.id,
    title: `Finished: ${task.title}`,
    text: task.note,
    to: href('task', task.id),
  }
}

/** Runs that go on by themselves, once a provider's limit is over. */
function limited(runs: Known['runs']): RunView[] {
  return [...runs.values()].filter(
    ({ status, reason, needs_you }) =>
      status === 'waiting' && !needs_you && reason.includes('at its limit'),
  )
}

/** Told of the first of them: the others wait for the same. */
function ofLimits(before: readonly RunView[], now: readonly RunView[]): Tiding[] {
  const [run] = now
  if (!run || before.length) return []
  const title = `Paused (rate limit): ${run.title || run.id}`
  const text = `${run.reason}; it goes on by itself`
  return [{ occasion: 'limited', name: 'limited', title, text, to: href('home') }]
}

function ofPhase(before: string, now: string): Tiding[] {
  const tell = (occasion: Occasion, title: string): Tiding[] => [
    { occasion, name: 'board', title, text: '', to: href('board') },
  ]
  if (!before || before === now) return []
  if (now === 'completed') return tell('all_done', 'Everything on the board is done')
  if (now === 'paused' || now === 'stopped') return tell('paused', `The board is ${now}`)
  const wasHeld = ['paused', 'pausing', 'stopped'].includes(before)
  return wasHeld && now === 'running' ? tell('resumed', 'The board goes on') : []
}

/** Pauses are heard, but no reason to disturb somebody who looks elsewhere. */
export function isNotified({ occasion }: Tiding): boolean {
  return occasion !== 'paused' && occasion !== 'resumed'
}

/** In quiet hours only this is told: work stands still until somebody comes. */
export function isUrgent({ occasion }: Tiding): boolean {
  return occasion === 'needs_you'
}
