// The syntax colours of a diff: each version of a hunk is read as a whole.

import type { DiffFile, DiffLine } from './diff'
import type { highlightLines, Piece } from './highlighter'

/** The pieces of each line that has colours. */
export type LineColours = Map<DiffLine, Piece[]>

export function colourFile(file: DiffFile, highlight: typeof highlightLines): LineColours {
  const found: LineColours = new Map()
  for (const { lines } of file.hunks) {
    for (const leftOut of ['added', 'removed'] as const) {
      const version = lines.filter(({ kind }) => kind !== leftOut)
      const code = version.map(({ text }) => text).join('\n')
      const pieces = highlight(code, file.path)
      if (pieces?.length !== version.length) continue
      version.forEach((line, at) => found.set(line, pieces[at]!))
    }
  }
  return found
}
