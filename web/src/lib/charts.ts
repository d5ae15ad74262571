// Numbers of charts: axes, buckets of time, and the course of a forecast.

import type { FinishedTask, Forecast, TimeUse } from './api-types'
import { duration, money } from './format'

/** A value of a chart, with its name and its text; null is unknown. */
export interface Bar {
  name: string
  value: number | null
  text: string
}

/** Round numbers from 0 to at least `most`, about `steps` of them. */
export function ticks(most: number, steps = 3): number[] {
  if (!(most > 0)) return [0, 1]
  const rough = most / steps
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough)! * power
  const count = Math.ceil(most / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}

/** The same for counts: no fractions. */
export function countTicks(most: number, steps = 3): number[] {
  const found = ticks(most, steps)
  return found.every(Number.isInteger) ? found : ticks(Math.max(1, most), 1)
}

const STEPS_MS = [1, 5, 15, 30, 60, 180, 360, 720, 1440, 2880, 10080, 40320].map((m) => m * 60_000)

/** Round local times between two moments, at most `most` of them. */
export function timeTicks(from: number, to: number, most = 5): number[] {
  const step = STEPS_MS.find((step) => (to - from) / step <= most) ?? (to - from) / most
  const offset = new Date(from).getTimezoneOffset() * 60_000
  const first = Math.ceil((from - offset) / step) * step + offset
  const found = []
  for (let at = first; at <= to && found.length <= most; at += step) found.push(at)
  return found
}

const HOUR_MS = 3_600_000

/** How many tasks finished in each hour up to now, at most `most` hours. */
export function byHour(tasks: readonly FinishedTask[], now: number, most = 24): Bar[] {
  if (!tasks.length) return []
  const last = Math.floor(now / HOUR_MS)
  const hours = tasks.map((task) => Math.floor(Date.parse(task.at) / HOUR_MS))
  const first = Math.max(Math.min(...hours), last - most + 1)
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
    const value = hours.filter((hour) => hour === first + index).length
    return { name: hourName((first + index) * HOUR_MS), value, text: `${value}` }
  })
}

function hourName(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}

/** What each task cost with all its attempts, the latest `most`. */
export function costs(tasks: readonly FinishedTask[], most = 24): Bar[] {
  return tasks.slice(-most).map(({ task, cost_usd, partial }) => ({
    name: task,
    value: cost_usd,
    text: cost_usd === null ? 'unknown' : money(cost_usd, partial),
  }))
}

export interface Moment {
  at: number
  count: number
}

/** How many tasks had finished at each moment. */
export function burnUp(tasks: readonly FinishedTask[]): Moment[] {
  return tasks.map((task, index) => ({ at: Date.parse(task.at), count: index + 1 }))
}

/** Where a time axis begins that ends at `to`: what is to come takes at least a quarter of it. */
export function begin(first: number, now: number, to: number): number {
  const shortest = Math.min(first, now - 60_000)
  return to > now ? Math.max(shortest, now - 3 * (to - now)) : shortest
}

export interface BandPoint {
  count: number
  early: number
  likely: number
  late: number
}

/** When the forecast expects each count, from those that have finished. */
export function band(forecast: Forecast, finished: number): BandPoint[] {
  const start = Date.parse(forecast.made_at)
  const points = forecast.course.map((point) => ({
    count: finished + point.finished,
    early: start + 1_000 * point.seconds.p10,
    likely: start + 1_000 * point.seconds.p50,
    late: start + 1_000 * point.seconds.p90,
  }))
  return [{ count: finished, early: start, likely: start, late: start }, ...points]
}

export interface Part {
  name: string
  /** The number of its colour. */
  colour: number
  seconds: number
  share: number
}

/** Where the time went, always in the same order. */
export function parts(time: TimeUse): Part[] {
  const named: [string, number, number][] = [
    ['Agents work', 1, time.agent_s],
    ['Checks run', 2, time.checks_s],
    ['Waits for your answer', 3, time.answer_s],
    ['Waits for your review', 3, time.review_s],
    ['Waits for a limit or a merge', 4, time.queue_s],
    ['Merges, opens, the rest', 5, time.other_s],
  ]
  const total = named.reduce((sum, [, , seconds]) => sum + seconds, 0)
  return named
    .filter(([, , seconds]) => seconds > 0)
    .map(([name, colour, seconds]) => ({ name, colour, seconds, share: seconds / total }))
}

/** "14 %", and never 0 or 100 for a part that is not. */
export function percent(share: number): string {
  if (share > 0 && share < 0.01) return '< 1 %'
  if (share < 1 && share > 0.99) return '> 99 %'
  return `${Math.round(100 * share)} %`
}

/** "inside", "12m later", "5m earlier" than the range. */
export function deviation(late_s: number): string {
  if (late_s === 0) return 'inside'
  return late_s > 0 ? `${duration(late_s)} later` : `${duration(-late_s)} earlier`
}
