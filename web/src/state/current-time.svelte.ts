// The current time, for ages such as "4m"; it is updated every few seconds.

const EVERY_MS = 5_000

class CurrentTime {
  now = $state(Date.now())

  /** Updates the time until the returned function is called. */
  start(): () => void {
    const timer = setInterval(() => (this.now = Date.now()), EVERY_MS)
    return () => clearInterval(timer)
  }
}

export const currentTime = new CurrentTime()
