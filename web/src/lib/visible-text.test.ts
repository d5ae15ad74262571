import { expect, test } from 'vitest'
import { visibleText, visibleWord } from './visible-text'

const flat = (styledPieces: { text: string; isSign: boolean }[]) =>
  styledPieces.map(({ text, isSign }) => (isSign ? `[${text}]` : text)).join('')

test('an argument shows its spaces, line ends and control characters', () => {
  expect(flat(visibleWord('a b'))).toBe('a[␣]b')
  expect(flat(visibleWord(''))).toBe('[empty]')
  expect(flat(visibleWord('x\ty\n'))).toBe('x[⇥]y[⏎\n]')
  expect(flat(visibleWord('\x1b[2K\r\x00\x7f\x9b'))).toBe('[\\x1b][2K[\\r\\x00\\x7f⟨U+009B⟩]')
})

test('characters without width or with a direction are named', () => {
  expect(flat(visibleWord('rm\u200b\u202e-x'))).toBe('rm[⟨U+200B⟩⟨U+202E⟩]-x')
  expect(flat(visibleText('rm\u00a0x'))).toBe('rm[⟨U+00A0⟩]x')
})

test('a line keeps the spaces between words and shows those that could hide something', () => {
  expect(flat(visibleText('git log -3'))).toBe('git log -3')
  expect(flat(visibleText(' ls   x '))).toBe('[␣]ls[␣␣␣]x[␣]')
})

test('a sign in the text is not marked as a sign', () => {
  expect(visibleWord('␣')).toEqual([{ text: '␣', isSign: false }])
})
