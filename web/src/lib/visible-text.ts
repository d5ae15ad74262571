// Text with a sign for each invisible character, so that a command can't hide anything.

import { mark } from './hidden-characters'

export interface VisiblePiece {
  text: string
  /** A sign that stands for an invisible character. */
  isSign: boolean
}

const SIGNS: Record<string, string> = { '\n': '⏎\n', '\t': '⇥', '\r': '\\r', ' ': '␣' }
// Characters without width or ink, and those that change how their neighbours are read.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|(?! )\p{Zs}/u

/** One argument of a command: its spaces are part of it. */
export function visibleWord(word: string): VisiblePiece[] {
  return word === '' ? [{ text: 'empty', isSign: true }] : withSigns(word, () => true)
}

/** One or more lines: single spaces between words need no sign. */
export function visibleText(text: string): VisiblePiece[] {
  return withSigns(
    text,
    (before, after) => !before || !after || /\s/.test(before) || /\s/.test(after),
  )
}

function withSigns(
  text: string,
  marksSpace: (before: string, after: string) => boolean,
): VisiblePiece[] {
  const characters = [...text]
  const found: VisiblePiece[] = []
  characters.forEach((character, at) => {
    const isSpace =
      character === ' ' && marksSpace(characters[at - 1] ?? '', characters[at + 1] ?? '')
    const isSign = isSpace || INVISIBLE.test(character)
    const last = found.at(-1)
    const shown = isSign ? sign(character) : character
    if (last?.isSign === isSign) last.text += shown
    else found.push({ text: shown, isSign })
  })
  return found
}

function sign(character: string): string {
  const known = SIGNS[character]
  if (known) return known
  const code = character.codePointAt(0)!
  return code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : mark(character)
}
