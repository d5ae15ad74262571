import { expect, test } from 'vitest'
import { Keyboard, named, type Binding } from './keys'

const known: Binding[] = ['g b', 'r', 'R', 'Ctrl+Shift+.'].map((keys) => ({
  keys,
  does: '',
  run: () => {},
}))

test('one key after another is one command, if the second comes in time', () => {
  const keyboard = new Keyboard()

  expect(keyboard.heard('g', 1_000, known)).toBeUndefined()
  expect(keyboard.heard('b', 1_500, known)?.keys).toBe('g b')
  expect(keyboard.heard('g', 2_000, known)).toBeUndefined()
  expect(keyboard.heard('b', 9_000, known)).toBeUndefined()
  expect(keyboard.heard('R', 9_100, known)?.keys).toBe('R')
})

test('Allstop is the same key on every keyboard', () => {
  const pressed = (init: KeyboardEventInit) => named(new KeyboardEvent('keydown', init))
  const held = { ctrlKey: true, shiftKey: true, code: 'Period' }

  expect(pressed({ ...held, key: '>' })).toBe('Ctrl+Shift+.')
  expect(pressed({ ...held, key: ':' })).toBe('Ctrl+Shift+.')
  expect(pressed({ key: 'X', shiftKey: true })).toBe('X')
  expect(pressed({ key: '+', shiftKey: true })).toBe('+')
  expect(pressed({ key: 'ArrowUp', shiftKey: true })).toBe('Shift+ArrowUp')
})
