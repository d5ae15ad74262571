import { expect, test } from 'vitest'
import { exactText, exactWord } from './exact'

const flat = (pieces: { text: string; isSign: boolean }[]) =>
  pieces.map(({ text, isSign }) => (isSign ? `[${text}]` : text)).join('')

test('a word shows its spaces, line ends and what a terminal would obey', () => {
  expect(flat(exactWord('a b'))).toBe('a[␣]b')
  expect(flat(exactWord(''))).toBe('[empty]')
  expect(flat(exactWord('x\ty\n'))).toBe('x[⇥]y[⏎\n]')
  expect(flat(exactWord('\x1b[2K\r\x00\x7f\x9b'))).toBe('[\\x1b][2K[\\r\\x00\\x7f⟨U+009B⟩]')
})

test('what has no width or turns text around is named', () => {
  expect(flat(exactWord('rm\u200b\u202e-x'))).toBe('rm[⟨U+200B⟩⟨U+202E⟩]-x')
  expect(flat(exactText('rm\u00a0x'))).toBe('rm[⟨U+00A0⟩]x')
})

test('a line keeps the spaces between words and shows those that could hide something', () => {
  expect(flat(exactText('git log -3'))).toBe('git log -3')
  expect(flat(exactText(' ls   x '))).toBe('[␣]ls[␣␣␣]x[␣]')
})

test('a sign that was written is not taken for one of ours', () => {
  expect(exactWord('␣')).toEqual([{ text: '␣', isSign: false }])
})
