// Times in the server's sentences: it writes them in UTC, people read them in their own zone.

const UTC = /(?:(\d{4}-\d\d-\d\d) )?\b(\d\d:\d\d)(:\d\d)? UTC\b/g

/** The text with every "21:36 UTC" as a local time. A time without a date is of the day `at`. */
export function withLocalTimes(text: string, at: string | number | Date = Date.now()): string {
  return text.replace(UTC, (all, day: string | undefined, time: string, seconds = '') => {
    const today = new Date(at)
    if (Number.isNaN(today.getTime())) return all
    const date = new Date(`${day ?? today.toISOString().slice(0, 10)}T${time}${seconds || ':00'}Z`)
    if (Number.isNaN(date.getTime())) return all
    const clock = date.toLocaleTimeString('en-GB', {
      hour: '2-digit',
      minute: '2-digit',
      ...(seconds && { second: '2-digit' }),
    })
    const isToday = date.toDateString() === today.toDateString()
    return isToday || !day
      ? clock
      : `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${clock}`
  })
}
