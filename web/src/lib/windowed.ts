// Which rows of a long list are in sight.

export interface Rows {
  first: number
  last: number
}

const BEYOND = 8

/** Rows of one height, a few more than can be seen so that scrolling shows no gap. */
export function inSight(total: number, row_px: number, top_px: number, height_px: number): Rows {
  const first = Math.min(Math.max(0, Math.floor(top_px / row_px) - BEYOND), total)
  const last = Math.min(total, Math.ceil((top_px + height_px) / row_px) + BEYOND)
  return { first, last: Math.max(first, last) }
}
