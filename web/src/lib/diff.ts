// Git patches: a parser into files, hunks and lines.

export type LineKind = 'same' | 'added' | 'removed'

export interface DiffLine {
  kind: LineKind
  text: string
  /** Line numbers before and after the change; 0 where there is none. */
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
  /** Changes besides its lines, such as a rename. */
  notes: string[]
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
      file = { path: pathOf(line), hunks: [], notes: [] }
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
      if (file) readHeader(line, file)
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

/** Reads a line between a file's name and its first hunk. */
function readHeader(line: string, file: DiffFile): void {
  const name =
    /^(?:\+\+\+ "?b\/|rename to )/.test(line) && line.replace(/^(?:\+\+\+|rename to) /, '')
  if (name) file.path = unquoted(name.replace(/\t$/, '')).replace(/^b\//, '')
  const [, was] = /^rename from (.+)/.exec(line) ?? []
  const [, mode] = /^old mode (\d+)/.exec(line) ?? []
  const [, now] = /^new mode (\d+)/.exec(line) ?? []
  const [, kind = ''] = /^(?:new|deleted) file mode (\d+)/.exec(line) ?? []
  if (was) file.notes.push(`was ${unquoted(was)}`)
  else if (mode) file.notes.push(`mode ${mode}`)
  else if (now) file.notes.push(`${file.notes.pop() ?? 'mode'} → ${now}`)
  else if (KINDS[kind]) file.notes.push(KINDS[kind])
  else if (line.startsWith('Binary files ')) file.notes.push('binary')
}

const KINDS: Record<string, string> = {
  '100755': 'executable',
  '120000': 'symbolic link',
  '160000': 'submodule',
}

/** Git quotes names that contain quotes, backslashes or control characters. */
function unquoted(name: string): string {
  if (!/^".*"$/.test(name)) return name
  const known: Record<string, string> = { t: '\t', n: '\n', r: '\r' }
  return name
    .slice(1, -1)
    .replace(/\\(?:([0-7]{3})|(.))/g, (_, octal: string | undefined, sign: string) =>
      octal ? String.fromCharCode(parseInt(octal, 8)) : (known[sign] ?? sign),
    )
}

function pathOf(line: string): string {
  const words = line.slice('diff --git '.length)
  return unquoted(words.slice(words.length / 2 + 1)).replace(/^b\//, '')
}

export function linesOf(file: DiffFile): DiffLine[] {
  return file.hunks.flatMap(({ lines }) => lines)
}

/** The lines side by side: removed ones on the left of those that replace them. */
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
