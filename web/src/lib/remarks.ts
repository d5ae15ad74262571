// Remarks on lines of a diff: drafts, sent ones, and the line that each belongs to.

import type { DiffFile, DiffLine } from './diff'
import type { Remark, Review } from './api-types'

/** A line of a diff; `removed` says that the number is the one before the change. */
export interface DiffPosition {
  file: string
  line: number
  removed: boolean
  quoted: string
}

/** A remark that was not sent yet. */
export interface RemarkDraft extends DiffPosition {
  id: string
  text: string
}

export interface StoredDrafts {
  /** A remark on the change as a whole. */
  text: string
  remarks: RemarkDraft[]
}

export interface SentRemark extends Remark {
  at: string
}

export interface PlacedRemarks {
  /** By the key of the line. */
  onLines: Map<string, SentRemark[]>
  /** Remarks whose line is gone or has changed. */
  elsewhere: SentRemark[]
  /** Remarks on the change as a whole. */
  general: { at: string; text: string }[]
}

export function positionOf(file: string, line: DiffLine): DiffPosition {
  const removed = line.kind === 'removed'
  return { file, line: removed ? line.before : line.after, removed, quoted: line.text }
}

export function keyOf({
  file,
  line,
  removed,
}: Pick<DiffPosition, 'file' | 'line'> & { removed?: boolean }) {
  return `${removed ? '-' : '+'}${line} ${file}`
}

/** Finds the line of each sent remark in the current diff. */
export function placeRemarks(
  files: readonly DiffFile[],
  reviews: readonly Review[],
): PlacedRemarks {
  const quotes = new Map(
    files.flatMap(({ path, hunks }) =>
      hunks.flatMap(({ lines }) =>
        lines.map((line) => [keyOf(positionOf(path, line)), line.text] as const),
      ),
    ),
  )
  const found: PlacedRemarks = { onLines: new Map(), elsewhere: [], general: [] }
  for (const { at, text, remarks = [] } of reviews) {
    if (text) found.general.push({ at, text })
    for (const remark of remarks) {
      const key = keyOf(remark)
      if (quotes.get(key) !== (remark.quoted ?? '')) found.elsewhere.push({ ...remark, at })
      else found.onLines.set(key, [...(found.onLines.get(key) ?? []), { ...remark, at }])
    }
  }
  return found
}

/** Without drafts that the server already has: the answer to sending them may have been lost. */
export function unsent(drafts: StoredDrafts, reviews: readonly Review[]): StoredDrafts {
  const sent = new Set(reviews.flatMap(({ remarks = [] }) => remarks.map(({ id }) => id)))
  const remarks = drafts.remarks.filter(({ id }) => !sent.has(id))
  const isSame = remarks.length === drafts.remarks.length
  return isSame ? drafts : { text: remarks.length ? drafts.text : '', remarks }
}

export function written({ remarks }: StoredDrafts): RemarkDraft[] {
  return remarks.filter(({ text }) => text.trim())
}

/** Reads drafts from the browser's storage; anything else counts as no drafts. */
export function readDrafts(stored: string | null): StoredDrafts {
  try {
    const { text, remarks } = JSON.parse(stored ?? '') as StoredDrafts
    if (typeof text === 'string' && Array.isArray(remarks) && remarks.every(isDraft))
      return { text, remarks }
  } catch {
    // nothing was stored, or not by this page
  }
  return { text: '', remarks: [] }
}

function isDraft(one: Partial<RemarkDraft>): boolean {
  return typeof one.id === 'string' && typeof one.file === 'string' && typeof one.text === 'string'
}
