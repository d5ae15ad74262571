// Terminal output as pieces of text with colours. All other terminal codes (cursor movement,
// titles, links, clipboard) are dropped.

import { showHidden } from './hidden-characters'

export interface TextPiece {
  text: string
  /** CSS classes: `fg1`, `bg4`, `bold`, `dim`, `italic`, `underline`. */
  classes: string
}

// A string command ends with its terminator, or with the text.
const STRINGS = /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^]*?(?:\x07|\x1b\\|\x9c|$)/g
const CSI = /(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~]|$)/g
const ESCAPES = /\x1b(?:[ -/]*[0-~])?/g
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

const STYLE_MARK = '\ue000'

export function styledPieces(output: string): TextPiece[] {
  const { text, codes } = withoutCodes(output)
  const found: TextPiece[] = []
  let style = new Style()
  text.split(STYLE_MARK).forEach((part, index) => {
    if (index > 0) style = style.after(codes[index - 1] ?? '')
    if (part) found.push({ text: showHidden(part), classes: style.classes() })
  })
  return found
}

/** The text without colours. */
export function plain(output: string): string {
  return showHidden(withoutCodes(output).text.replaceAll(STYLE_MARK, ''))
}

function withoutCodes(output: string): { text: string; codes: string[] } {
  const codes: string[] = []
  const text = output
    .replaceAll(STYLE_MARK, '\ufffd')
    .replace(STRINGS, '')
    .replace(CSI, (_, numbers: string, end: string) => {
      if (end !== 'm' || !/^[\d;:]*$/.test(numbers)) return ''
      codes.push(numbers)
      return STYLE_MARK
    })
    .replace(ESCAPES, '')
    .replace(/\r+\n/g, '\n')
    .split('\n')
    .map(overwritten)
    .join('\n')
    .replace(CONTROLS, '')
  return { text, codes }
}

/** A carriage return goes back to the start of the line: the text before it is overwritten. */
function overwritten(line: string): string {
  const at = line.lastIndexOf('\r', line.length - 2)
  return at < 0 ? line : line.slice(0, at).replace(/[^\ue000]/g, '') + line.slice(at + 1)
}

class Style {
  constructor(
    readonly fg = '',
    readonly bg = '',
    readonly marks: ReadonlySet<string> = new Set(),
  ) {}

  classes(): string {
    return [this.fg && `fg${this.fg}`, this.bg && `bg${this.bg}`, ...this.marks]
      .filter(Boolean)
      .join(' ')
  }

  after(numbers: string): Style {
    const codes = numbers.split(/[;:]/).map((code) => Number(code || '0'))
    let { fg, bg } = this
    const marks = new Set(this.marks)
    for (let at = 0; at < codes.length; at++) {
      const code = codes[at]!
      if (code === 0) {
        fg = bg = ''
        marks.clear()
      } else if (code === 38 || code === 48) {
        const colour = codes[at + 1] === 5 && codes[at + 2]! < 16 ? `${codes[at + 2]}` : ''
        if (code === 38) fg = colour
        else bg = colour
        at += codes[at + 1] === 5 ? 2 : 4
      } else if (code === 22) {
        marks.delete('bold')
        marks.delete('dim')
      } else if (MARKS[code]) marks.add(MARKS[code])
      else if (MARKS[code - 20]) marks.delete(MARKS[code - 20]!)
      else if (code === 39) fg = ''
      else if (code === 49) bg = ''
      else if (code >= 30 && code <= 37) fg = `${code - 30}`
      else if (code >= 40 && code <= 47) bg = `${code - 40}`
      else if (code >= 90 && code <= 97) fg = `${code - 82}`
      else if (code >= 100 && code <= 107) bg = `${code - 92}`
    }
    return new Style(fg, bg, marks)
  }
}

const MARKS: Record<number, string> = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline' }
