import { expect, test } from 'vitest'
import { Keyboard, keyName, type Binding } from './key-bindings'

const known: Binding[] = ['g b', 'r', 'R', 'Ctrl+Shift+.'].map((keys) => ({
  keys,
  does: '',
  run: () => {},
}))

test('two keys in time are one sequence', () => {
  const keyboard = new Keyboard()

  expect(keyboard.find('g', 1_000, known)).toBeUndefined()
  expect(keyboard.find('b', 1_500, known)?.keys).toBe('g b')
  expect(keyboard.find('g', 2_000, known)).toBeUndefined()
  expect(keyboard.find('b', 9_000, known)).toBeUndefined()
  expect(keyboard.find('R', 9_100, known)?.keys).toBe('R')
})

test('Allstop is the same key on every keyboard', () => {
  const pressed = (init: KeyboardEventInit) => keyName(new KeyboardEvent('keydown', init))
  const held = { ctrlKey: true, shiftKey: true, code: 'Period' }

  expect(pressed({ ...held, key: '>' })).toBe('Ctrl+Shift+.')
  expect(pressed({ ...held, key: ':' })).toBe('Ctrl+Shift+.')
  expect(pressed({ key: 'X', shiftKey: true })).toBe('X')
  expect(pressed({ key: '+', shiftKey: true })).toBe('+')
  expect(pressed({ key: 'ArrowUp', shiftKey: true })).toBe('Shift+ArrowUp')
})
