import { expect, test } from 'vitest'
import { parsePatch, sideBySide } from './diff'

const PATCH = `diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,4 @@ def f():
 one
-two
+TWO
+and
 three
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
--- a line that looks like a header
\\ No newline at end of file
diff --git a/pic.png b/pic.png
Binary files differ
`

test('reads files, hunks and line numbers', () => {
  const [a, gone, picture] = parsePatch(PATCH)

  expect(a?.path).toBe('src/a.py')
  expect(a?.hunks[0]?.head).toBe('def f():')
  expect(a?.hunks[0]?.lines.map(({ kind, before, after }) => [kind, before, after])).toEqual([
    ['same', 1, 1],
    ['removed', 2, 0],
    ['added', 0, 2],
    ['added', 0, 3],
    ['same', 3, 4],
  ])
  expect(gone?.path).toBe('gone')
  expect(gone?.hunks[0]?.lines).toEqual([
    { kind: 'removed', text: '-- a line that looks like a header', before: 1, after: 0 },
  ])
  expect(picture).toEqual({ path: 'pic.png', hunks: [], notes: ['binary'] })
})

test('reads renames, modes and quoted names', () => {
  const patch = `diff --git a/old b/a new name
similarity index 100%
rename from old
rename to a new name
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git "a/say \\"hi\\"\\011" "b/say \\"hi\\"\\011"
new file mode 120000
--- /dev/null
+++ "b/say \\"hi\\"\\011"
@@ -0,0 +1 @@
+/etc/passwd
`

  expect(parsePatch(patch).map(({ path, notes }) => [path, notes])).toEqual([
    ['a new name', ['was old']],
    ['run.sh', ['mode 100644 → 100755']],
    ['say "hi"\t', ['symbolic link']],
  ])
})

test('puts removed lines beside those that replace them', () => {
  const lines = parsePatch(PATCH)[0]!.hunks[0]!.lines

  expect(sideBySide(lines).map(({ left, right }) => [left?.text, right?.text])).toEqual([
    ['one', 'one'],
    ['two', 'TWO'],
    [undefined, 'and'],
    ['three', 'three'],
  ])
})
