// Numbers, amounts and times as people read them.

export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}

/** `partial`: agents did not report all that was spent. */
export function money(usd: number, partial = false): string {
  if (partial) return usd === 0 ? 'cost unknown' : `≥ $${Math.max(usd, 0.01).toFixed(2)}`
  if (usd === 0) return '$0'
  return usd < 0.01 ? '<$0.01' : `$${usd.toFixed(2)}`
}

export function tokens(number: number): string {
  if (number < 1_000) return `${number}`
  if (number < 1_000_000) return `${(number / 1_000).toFixed(number < 10_000 ? 1 : 0)}k`
  return `${(number / 1_000_000).toFixed(1)}M`
}

/** "8s", "4m", "2h 5m", "3d": two parts at most. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  if (whole < 60) return `${whole}s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 ? `${hours}h ${minutes % 60}m` : `${hours}h`
  return `${Math.floor(hours / 24)}d`
}

export function age(since: string | number | null | undefined, now: number): string {
  if (since === null || since === undefined) return ''
  const then = typeof since === 'number' ? since * 1_000 : Date.parse(since)
  return duration((now - then) / 1_000)
}

/** "17 Nov 2026, 14:02", in local time. */
export function moment(at: string): string {
  const form = { dateStyle: 'medium', timeStyle: 'short' } as const
  return new Date(at).toLocaleString('en-GB', form)
}

/** "14:02:31", in local time. */
export function clock(at: string | number): string {
  const date = new Date(typeof at === 'number' ? at * 1_000 : at)
  return date.toLocaleTimeString('en-GB', { hour12: false })
}

/** "14:02", in local time. */
export function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}

/** "14:02", with its day unless that is today, in local time. */
export function when(at: string, now = Date.now()): string {
  const time = Date.parse(at)
  const isToday = new Date(time).toDateString() === new Date(now).toDateString()
  return isToday ? clockTime(time) : `${dayMonth(time)}, ${clockTime(time)}`
}

/** "12 Nov", in local time. */
export function dayMonth(at: number): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}
