// Alerts: what is worth a sound or a notification, found by comparing two snapshots.

import { kindOf } from '../kinds'
import type { PlanView, RunView, TaskView, Waiting } from './api-types'
import { withLocalTimes } from './local-times'
import { href } from './routes'

export type AlertKind = 'needs_you' | 'failed' | 'finished' | 'all_done' | 'limited' | SoundOnly

/** Alerts that only make a sound: the browser shows no notification for them. */
const SOUND_ONLY = ['paused', 'resumed', 'step_done', 'step_failed', 'plan_done'] as const
type SoundOnly = (typeof SOUND_ONLY)[number]

export interface Alert {
  kind: AlertKind
  /** A browser shows only one notification of a name. */
  name: string
  title: string
  text: string
  to: string
}

export interface Snapshot {
  waiting: ReadonlyMap<string, Waiting>
  tasks: ReadonlyMap<string, TaskView>
  runs: ReadonlyMap<string, RunView>
  phase: string
  plans: ReadonlyMap<string, PlanView>
}

export function snapshot(
  waiting: readonly Waiting[],
  tasks: readonly TaskView[],
  runs: readonly RunView[],
  phase: string,
  plans: readonly PlanView[] = [],
): Snapshot {
  return {
    waiting: new Map(waiting.map((each) => [nameOf(each), each])),
    tasks: new Map(tasks.map((each) => [each.id, each])),
    runs: new Map(runs.map((each) => [each.id, each])),
    phase,
    plans: new Map(plans.map((each) => [each.sessionId, each])),
  }
}

/** The inbox may list the same thing as a task and as its run, and with another time after a restart. */
function nameOf({ id, kind, task, run, text }: Waiting): string {
  const isAsk = kind === 'leave' || kind === 'question'
  return isAsk ? id : `${task || run} ${kind} ${text}`
}

/** The most important first. */
export function newAlerts(before: Snapshot, now: Snapshot): Alert[] {
  return [
    ...planAlerts(before.plans, now.plans),
    ...added(before.waiting, now.waiting).map(waitingAlert),
    ...ended(before.runs, now.runs).map(runAlert),
    ...done(before.tasks, now.tasks).map(taskAlert),
    ...limitAlerts(limited(before.runs), limited(now.runs)),
    ...phaseAlerts(before.phase, now.phase),
  ]
}

function added<T>(before: ReadonlyMap<string, T>, now: ReadonlyMap<string, T>): T[] {
  return [...now].filter(([name]) => !before.has(name)).map(([, value]) => value)
}

/** Runs that ended since the earlier snapshot. Runs of tasks are announced by their tasks. */
function ended(before: Snapshot['runs'], now: Snapshot['runs']): RunView[] {
  return [...now.values()].filter((run) => {
    const earlier = before.get(run.id)
    const hasEnded = earlier && !earlier.outcome && run.outcome
    return hasEnded && !run.parent && kindOf(run.kind).announcesEnd
  })
}

function done(before: Snapshot['tasks'], now: Snapshot['tasks']): TaskView[] {
  return [...now.values()].filter((task) => {
    const earlier = before.get(task.id)
    return earlier && earlier.status !== 'done' && task.status === 'done'
  })
}

function waitingAlert(waiting: Waiting): Alert {
  const what = waiting.title || waiting.task || waiting.run
  const isFailed = waiting.kind === 'failed' || waiting.kind === 'blocked'
  return {
    kind: isFailed ? 'failed' : 'needs_you',
    name: nameOf(waiting),
    title: `${isFailed ? 'Failed' : 'Needs you'}: ${what}`,
    text: waiting.text === what ? '' : waiting.text,
    to: href('inbox'),
  }
}

function runAlert(run: RunView): Alert {
  const isGood = run.outcome === 'done'
  return {
    kind: isGood ? 'finished' : 'failed',
    name: run.id,
    title: `${isGood ? 'Finished' : `Ended (${run.outcome})`}: ${run.title || run.id}`,
    text: run.reason,
    to: href('history', run.id),
  }
}

function taskAlert(task: TaskView): Alert {
  return {
    kind: 'finished',
    name: task.id,
    title: `Finished: ${task.title}`,
    text: task.note,
    to: href('task', task.id),
  }
}

/** Runs that wait for a provider's rate limit and continue by themselves. */
function limited(runs: Snapshot['runs']): RunView[] {
  return [...runs.values()].filter(
    ({ status, reason, needs_you }) =>
      status === 'waiting' && !needs_you && reason.includes('at its limit'),
  )
}

/** Only the first of them has an alert: the others wait for the same limit. */
function limitAlerts(before: readonly RunView[], now: readonly RunView[]): Alert[] {
  const [run] = now
  if (!run || before.length) return []
  const title = `Paused (rate limit): ${run.title || run.id}`
  const text = `${withLocalTimes(run.reason)}. It continues by itself.`
  return [{ kind: 'limited', name: 'limited', title, text, to: href('home') }]
}

function phaseAlerts(before: string, now: string): Alert[] {
  const alert = (kind: AlertKind, title: string): Alert[] => [
    { kind, name: 'board', title, text: '', to: href('board') },
  ]
  if (!before || before === now) return []
  if (now === 'completed') return alert('all_done', 'Everything on the board is done')
  if (now === 'paused' || now === 'stopped') return alert('paused', `The board is ${now}`)
  const wasHeld = ['paused', 'pausing', 'stopped'].includes(before)
  return wasHeld && now === 'running' ? alert('resumed', 'The board is running again') : []
}

/** The sounds of a plan. Its end and its failures are also announced as those of any run. */
function planAlerts(before: Snapshot['plans'], now: Snapshot['plans']): Alert[] {
  return [...now.values()].flatMap((plan) => {
    const earlier = before.get(plan.sessionId)
    const kind = earlier && planChange(earlier, plan)
    if (!kind) return []
    const title = plan.title || plan.sessionId
    return [{ kind, name: plan.sessionId, title, text: '', to: href('plans', plan.sessionId) }]
  })
}

function planChange(before: PlanView, now: PlanView): SoundOnly | undefined {
  if (now.outcome !== before.outcome) return now.outcome === 'done' ? 'plan_done' : 'step_failed'
  if (now.pauseReason !== before.pauseReason) {
    if (now.pauseReason === 'failed') return 'step_failed'
    if (now.pauseReason === 'user') return 'paused'
    if (now.pauseReason === null && now.status === 'running') return 'resumed'
  }
  if (now.failedSteps > before.failedSteps) return 'step_failed'
  return now.completedSteps > before.completedSteps ? 'step_done' : undefined
}

export function showsNotification({ kind }: Alert): boolean {
  return !(SOUND_ONLY as readonly string[]).includes(kind)
}

/** In quiet hours only urgent alerts are shown: work that waits until a person comes. */
export function isUrgent({ kind }: Alert): boolean {
  return kind === 'needs_you'
}
