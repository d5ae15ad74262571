// Text exactly as it is: what can't be seen, or could be taken for something else, has a sign.

import { mark } from './hidden'

export interface Exact {
  text: string
  /** It stands for something that can't be seen. */
  isSign: boolean
}

const SIGNS: Record<string, string> = { '\n': '⏎\n', '\t': '⇥', '\r': '\\r', ' ': '␣' }
// Everything that has no width or no ink, and whatever changes how its neighbours are read.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|(?! )\p{Zs}/u

/** One word of a command: its spaces are part of it. */
export function exactWord(word: string): Exact[] {
  return word === '' ? [{ text: 'empty', isSign: true }] : signed(word, () => true)
}

/** A line or more: single spaces between words need no sign. */
export function exactText(text: string): Exact[] {
  return signed(text, (before, after) => !before || !after || /\s/.test(before) || /\s/.test(after))
}

function signed(text: string, marksSpace: (before: string, after: string) => boolean): Exact[] {
  const letters = [...text]
  const found: Exact[] = []
  letters.forEach((letter, at) => {
    const isSpace = letter === ' ' && marksSpace(letters[at - 1] ?? '', letters[at + 1] ?? '')
    const isSign = isSpace || UNSEEN.test(letter)
    const last = found.at(-1)
    const shown = isSign ? sign(letter) : letter
    if (last?.isSign === isSign) last.text += shown
    else found.push({ text: shown, isSign })
  })
  return found
}

function sign(letter: string): string {
  const known = SIGNS[letter]
  if (known) return known
  const code = letter.codePointAt(0)!
  return code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : mark(letter)
}
