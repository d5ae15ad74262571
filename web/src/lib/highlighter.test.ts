import { describe, expect, it } from 'vitest'
import { parsePatch } from './diff'
import { colourFile } from './diff-colours'
import { highlightLines, languageOf } from './highlighter'

describe('syntax colours', () => {
  it('S4: gives each piece of a line the name of its colour', () => {
    expect(highlightLines('def add(a):\n    return 5  # five', 'x/add.py')).toEqual([
      [
        { colour: 'keyword', text: 'def' },
        { colour: '', text: ' ' },
        { colour: 'name', text: 'add' },
        { colour: '', text: '(a):' },
      ],
      [
        { colour: '', text: '    ' },
        { colour: 'keyword', text: 'return' },
        { colour: '', text: ' ' },
        { colour: 'number', text: '5' },
        { colour: '', text: '  ' },
        { colour: 'comment', text: '# five' },
      ],
    ])
  })

  it('leaves every character as it is, also HTML', () => {
    const code = '<script>alert("1 & 2")</script>\n<b>\n'
    const lines = highlightLines(code, 'page.html')!

    expect(lines.map((line) => line.map(({ text }) => text).join('')).join('\n')).toBe(code)
  })

  it('knows languages by the ending of the file', () => {
    expect(languageOf('src/App.svelte')).toBe('xml')
    expect(languageOf('Makefile')).toBe('bash')
    expect(languageOf('LICENSE')).toBeUndefined()
    expect(highlightLines('x', 'notes')).toBeUndefined()
  })

  it('reads both versions of a hunk, so that removed lines do not change the others', () => {
    const [file] = parsePatch(
      'diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = """\n+x = 1\n y = 2',
    )

    const colours = colourFile(file!, highlightLines)

    const [removed, added, same] = file!.hunks[0]!.lines
    expect(colours.get(removed!)!.at(-1)).toEqual({ colour: 'text', text: '"""' })
    expect(colours.get(added!)!.at(-1)).toEqual({ colour: 'number', text: '1' })
    expect(colours.get(same!)!.at(-1)).toEqual({ colour: 'number', text: '2' })
  })
})
