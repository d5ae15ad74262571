// A patch as git writes it, read into files, hunks and lines.

export type LineKind = 'same' | 'added' | 'removed'

export interface DiffLine {
  kind: LineKind
  text: string
  /** Line numbers, before and after; 0 where there is none. */
  before: number
  after: number
}

export interface Hunk {
  head: string
  lines: DiffLine[]
}

export interface DiffFile {
  path: string
  hunks: Hunk[]
}

export interface Pair {
  left: DiffLine | undefined
  right: DiffLine | undefined
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/

export function parsePatch(patch: string): DiffFile[] {
  const files: DiffFile[] = []
  let file: DiffFile | undefined
  let hunk: Hunk | undefined
  let before = 0
  let after = 0
  for (const line of patch.split('\n')) {
    if (line.startsWith('diff --git ')) {
      file = { path: pathOf(line), hunks: [] }
      files.push(file)
      hunk = undefined
      continue
    }
    const head = HUNK.exec(line)
    if (head && file) {
      before = Number(head[1])
      after = Number(head[2])
      hunk = { head: head[3]!.trim(), lines: [] }
      file.hunks.push(hunk)
    } else if (!hunk) {
      if (file && line.startsWith('+++ b/')) file.path = line.slice(6).replace(/\t$/, '')
    } else if (line.startsWith('+')) {
      hunk.lines.push({ kind: 'added', text: line.slice(1), before: 0, after: after++ })
    } else if (line.startsWith('-')) {
      hunk.lines.push({ kind: 'removed', text: line.slice(1), before: before++, after: 0 })
    } else if (line.startsWith(' ')) {
      hunk.lines.push({ kind: 'same', text: line.slice(1), before: before++, after: after++ })
    }
  }
  return files
}

function pathOf(line: string): string {
  const words = line.slice('diff --git '.length)
  return words
    .slice(words.length / 2 + 1)
    .replace(/^"?b\//, '')
    .replace(/"$/, '')
}

/** The same lines side by side: what was removed beside what came in its place. */
export function sideBySide(lines: readonly DiffLine[]): Pair[] {
  const pairs: Pair[] = []
  let removed: DiffLine[] = []
  let added: DiffLine[] = []
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      pairs.push({ left: removed[at], right: added[at] })
    removed = []
    added = []
  }
  for (const line of lines) {
    if (line.kind === 'removed') {
      if (added.length) flush()
      removed.push(line)
    } else if (line.kind === 'added') added.push(line)
    else {
      flush()
      pairs.push({ left: line, right: line })
    }
  }
  flush()
  return pairs
}
