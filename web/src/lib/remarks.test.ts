import { expect, test } from 'vitest'
import { parsePatch } from './diff'
import { keyOf, placeRemarks, readDrafts, positionOf, unsent, written } from './remarks'

const FILES = parsePatch(`diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -4,2 +4,2 @@
 same
-old
+new
`)
const [same, old, fresh] = FILES[0]!.hunks[0]!.lines
const AT = '2026-01-01T00:00:00Z'
const remark = (id: string, line: number, quoted: string, removed = false) => ({
  ...{ id, file: 'a.py', line, quoted, removed, text: 'why?' },
})

test('a line has its number before or after the change', () => {
  expect(positionOf('a.py', same!)).toMatchObject({ line: 4, removed: false, quoted: 'same' })
  expect(positionOf('a.py', old!)).toMatchObject({ line: 5, removed: true, quoted: 'old' })
  expect(positionOf('a.py', fresh!)).toMatchObject({ line: 5, removed: false, quoted: 'new' })
  expect(keyOf(positionOf('a.py', old!))).not.toBe(keyOf(positionOf('a.py', fresh!)))
})

test('a remark stays at its line until the line changes', () => {
  const found = placeRemarks(FILES, [
    { at: AT, text: 'All in all', remarks: [remark('1', 5, 'new'), remark('2', 5, 'old', true)] },
    { at: AT, remarks: [remark('3', 5, 'newer'), remark('4', 99, 'new')] },
  ])

  expect([...found.onLines.values()].flat().map(({ id }) => id)).toEqual(['1', '2'])
  expect(found.elsewhere.map(({ id }) => id)).toEqual(['3', '4'])
  expect(found.general).toEqual([{ at: AT, text: 'All in all' }])
})

test('a sent remark is no draft', () => {
  const drafts = { text: 'All in all', remarks: [remark('1', 5, 'new'), remark('2', 4, 'same')] }
  const first = { at: AT, remarks: [remark('1', 5, 'new')] }

  expect(unsent(drafts, [])).toBe(drafts)
  expect(unsent(drafts, [first])).toEqual({ text: 'All in all', remarks: [drafts.remarks[1]] })
  expect(unsent(drafts, [first, { at: AT, remarks: [remark('2', 4, 'same')] }])).toEqual({
    text: '',
    remarks: [],
  })
})

test('stored drafts are read, anything else is ignored', () => {
  const drafts = { text: '', remarks: [remark('1', 5, 'new')] }

  expect(readDrafts(JSON.stringify(drafts))).toEqual(drafts)
  for (const kept of [
    null,
    '',
    '{',
    '[]',
    '{"text": 3, "remarks": []}',
    '{"text":"","remarks":[{}]}',
  ])
    expect(readDrafts(kept)).toEqual({ text: '', remarks: [] })
  expect(written({ text: '', remarks: [{ ...remark('1', 5, 'new'), text: ' ' }] })).toEqual([])
})
