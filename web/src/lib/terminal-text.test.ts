import { expect, test } from 'vitest'
import { styledPieces, plain } from './terminal-text'

test('colours become classes until they are reset', () => {
  expect(
    styledPieces('a \x1b[31;1mred\x1b[0m \x1b[38;5;12mblue\x1b[39m b \x1b[48;2;1;2;3mx'),
  ).toEqual([
    { text: 'a ', classes: '' },
    { text: 'red', classes: 'fg1 bold' },
    { text: ' ', classes: '' },
    { text: 'blue', classes: 'fg12' },
    { text: ' b ', classes: '' },
    { text: 'x', classes: '' },
  ])
})

test.each([
  ['a title', '\x1b]0;owned\x07ok', 'ok'],
  ['a link', '\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\', 'click'],
  ['the clipboard', '\x1b]52;c;cm0gLXJm\x07ok', 'ok'],
  ['a device string', '\x1bP1$r0m\x1b\\ok', 'ok'],
  ['C1 instead of escape', '\x9b2Jok\x9d0;title\x9cfine', 'okfine'],
  ['cursor moves', 'a\x1b[2A\x1b[1;1Hb\x1b[K', 'ab'],
  ['private modes', '\x1b[?1049hok\x1b[?25l', 'ok'],
  ['a colour that is none', '\x1b[>4;2mok', 'ok'],
  ['bell and other controls', 'o\x07\x08\x00k\x7f', 'ok'],
  ['an escape that never ends', 'ok\x1b]0;the rest is swallowed', 'ok'],
  ['half an escape', 'ok\x1b', 'ok'],
  ['half a colour', 'ok\x1b[31', 'ok'],
  ['a bar drawn over itself', '10%\r50%\r100%\ndone\r\n', '100%\ndone\n'],
])('drops %s', (_, output, shown) => {
  expect(plain(output)).toBe(shown)
})

test('hidden characters are shown', () => {
  expect(plain('if admin\u202e\u2066 // check\u2069\u200bx')).toBe(
    'if admin⟨U+202E⟩⟨U+2066⟩ // check⟨U+2069⟩⟨U+200B⟩x',
  )
  expect(plain('family 👨‍👩‍👧 \u{e0041}')).toBe('family 👨‍👩‍👧 ⟨U+E0041⟩')
})

test('a long unterminated code is read quickly', () => {
  const began = performance.now()

  styledPieces(
    '\x1b]'.repeat(20_000) + '\x1b['.repeat(20_000) + '\r'.repeat(20_000) + 'x'.repeat(500_000),
  )

  expect(performance.now() - began).toBeLessThan(2_000)
})

test('a line of a megabyte is read quickly', () => {
  expect(plain('x'.repeat(1_000_000))).toHaveLength(1_000_000)
  expect(plain('50%\r'.repeat(200_000) + 'done')).toBe('done')
})
