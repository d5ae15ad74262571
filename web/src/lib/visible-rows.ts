// The visible rows of a long list.

export interface RowRange {
  first: number
  last: number
}

/** Rows drawn above and below the visible ones, so that scrolling shows no gap. */
const EXTRA = 8

/** The range of rows to draw; all rows have the same height. */
export function visibleRows(
  total: number,
  row_px: number,
  top_px: number,
  height_px: number,
): RowRange {
  const first = Math.min(Math.max(0, Math.floor(top_px / row_px) - EXTRA), total)
  const last = Math.min(total, Math.ceil((top_px + height_px) / row_px) + EXTRA)
  return { first, last: Math.max(first, last) }
}
