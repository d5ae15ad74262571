// Remarks on lines of a diff: which line each is about, and which were sent already.

import type { DiffFile, DiffLine } from './diff'
import type { Remark, Review } from './wire'

/** A line as a remark names it: by the number it has on its side. */
export interface Spot {
  file: string
  line: number
  removed: boolean
  quoted: string
}

/** Not sent yet. */
export interface Draft extends Spot {
  id: string
  text: string
}

export interface Drafts {
  /** Said of the whole. */
  text: string
  remarks: Draft[]
}

export interface Sent extends Remark {
  at: string
}

export interface Placed {
  /** By the key of its line. */
  onLines: Map<string, Sent[]>
  /** Whose line is no longer there, or another now. */
  elsewhere: Sent[]
  /** Said of the whole, where something was. */
  words: { at: string; text: string }[]
}

export function spotOf(file: string, line: DiffLine): Spot {
  const removed = line.kind === 'removed'
  return { file, line: removed ? line.before : line.after, removed, quoted: line.text }
}

export function keyOf({
  file,
  line,
  removed,
}: Pick<Spot, 'file' | 'line'> & { removed?: boolean }) {
  return `${removed ? '-' : '+'}${line} ${file}`
}

/** Where remarks belong in the diff as it is now. */
export function placed(files: readonly DiffFile[], reviews: readonly Review[]): Placed {
  const quotes = new Map(
    files.flatMap(({ path, hunks }) =>
      hunks.flatMap(({ lines }) =>
        lines.map((line) => [keyOf(spotOf(path, line)), line.text] as const),
      ),
    ),
  )
  const found: Placed = { onLines: new Map(), elsewhere: [], words: [] }
  for (const { at, text, remarks = [] } of reviews) {
    if (text) found.words.push({ at, text })
    for (const remark of remarks) {
      const key = keyOf(remark)
      if (quotes.get(key) !== (remark.quoted ?? '')) found.elsewhere.push({ ...remark, at })
      else found.onLines.set(key, [...(found.onLines.get(key) ?? []), { ...remark, at }])
    }
  }
  return found
}

/** Without those that got through, although perhaps nobody was told so. */
export function unsent(drafts: Drafts, reviews: readonly Review[]): Drafts {
  const sent = new Set(reviews.flatMap(({ remarks = [] }) => remarks.map(({ id }) => id)))
  const remarks = drafts.remarks.filter(({ id }) => !sent.has(id))
  const isSame = remarks.length === drafts.remarks.length
  return isSame ? drafts : { text: remarks.length ? drafts.text : '', remarks }
}

export function written({ remarks }: Drafts): Draft[] {
  return remarks.filter(({ text }) => text.trim())
}

/** What a browser has kept; whatever is there, it is a list of drafts. */
export function readDrafts(kept: string | null): Drafts {
  try {
    const { text, remarks } = JSON.parse(kept ?? '') as Drafts
    if (typeof text === 'string' && Array.isArray(remarks) && remarks.every(isDraft))
      return { text, remarks }
  } catch {
    // nothing was kept
  }
  return { text: '', remarks: [] }
}

function isDraft(one: Partial<Draft>): boolean {
  return typeof one.id === 'string' && typeof one.file === 'string' && typeof one.text === 'string'
}

/** What sending does to a task as it stands; nothing where nobody would read it. */
export function sendingTo(status: string): string {
  if (status === 'review') return 'Send back'
  if (status === 'active' || status === 'waiting') return 'Send to the agent'
  return ['blocked', 'failed', 'timeout'].includes(status) ? 'Retry with it' : ''
}
