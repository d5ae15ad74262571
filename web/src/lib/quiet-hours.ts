// Quiet hours, as `[notify] quiet` sets them: only urgent alerts are shown then.

/** Whether a time lies in hours such as `22:00-07:00`, in the zone or in the browser's own. */
export function isQuiet(hours: string, zone: string, now: Date): boolean {
  const [begins, ends] = hours.split('-').map(minutes)
  if (begins === undefined || ends === undefined) return false
  const at = minutes(clock(zone, now))
  return ends <= begins ? at >= begins || at < ends : begins <= at && at < ends
}

function minutes(time: string): number {
  const [hours, rest] = time.split(':')
  return Number(hours) * 60 + Number(rest)
}

function clock(zone: string, now: Date): string {
  const form = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  return new Intl.DateTimeFormat('en-GB', zone ? { ...form, timeZone: zone } : form).format(now)
}
