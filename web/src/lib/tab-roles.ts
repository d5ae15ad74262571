// Tab roles: of many open tabs exactly one makes sounds and shows notifications.

export interface TabState {
  isVisible: boolean
  /** A person clicked in the tab, so the browser lets it make sounds. */
  canSound: boolean
}

export interface TabRole {
  /** This tab makes the sounds and shows the notifications. */
  isSpeaker: boolean
  /** A person looks at one of the tabs. */
  isWatched: boolean
}

/** Prefers a tab that can make sounds, then a visible one, then the latest. */
export function speakerAmong<T>(tabs: ReadonlyMap<T, TabState>): T | undefined {
  let best: T | undefined
  let most = -1
  for (const [tab, { canSound, isVisible }] of tabs) {
    const points = (canSound ? 2 : 0) + (isVisible ? 1 : 0)
    if (points >= most) [best, most] = [tab, points]
  }
  return best
}

export function tabRoles<T>(tabs: ReadonlyMap<T, TabState>): Map<T, TabRole> {
  const speaker = speakerAmong(tabs)
  const isWatched = [...tabs.values()].some(({ isVisible }) => isVisible)
  return new Map([...tabs.keys()].map((tab) => [tab, { isSpeaker: tab === speaker, isWatched }]))
}
