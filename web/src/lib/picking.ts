// Which of many tabs speaks: one and only one, so that ten tabs don't ring ten times.

/** How a tab stands. */
export interface Stand {
  isVisible: boolean
  /** A person clicked in it, so that the browser lets it make sounds. */
  canSound: boolean
}

export interface Role {
  /** This tab makes the sounds and shows the notifications. */
  tells: boolean
  /** Somebody looks at one of the tabs. */
  isWatched: boolean
}

/** The one that can be heard, then the one in sight, then the latest. */
export function teller<T>(tabs: ReadonlyMap<T, Stand>): T | undefined {
  let best: T | undefined
  let most = -1
  for (const [tab, { canSound, isVisible }] of tabs) {
    const points = (canSound ? 2 : 0) + (isVisible ? 1 : 0)
    if (points >= most) [best, most] = [tab, points]
  }
  return best
}

export function roles<T>(tabs: ReadonlyMap<T, Stand>): Map<T, Role> {
  const chosen = teller(tabs)
  const isWatched = [...tabs.values()].some(({ isVisible }) => isVisible)
  return new Map([...tabs.keys()].map((tab) => [tab, { tells: tab === chosen, isWatched }]))
}
