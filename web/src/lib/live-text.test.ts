import { expect, test } from 'vitest'
import { lastCharacters, appendPiece, withHistory } from './live-text'

const piece = (start: number, text: string) => ({ start, end: start + [...text].length, text })

test('pieces are appended, and a known one changes nothing', () => {
  const known = appendPiece(appendPiece(undefined, piece(10, 'One ')), piece(14, 'two'))

  expect(known).toEqual({ start: 10, end: 17, text: 'One two' })
  expect(appendPiece(known, piece(14, 'two'))).toBe(known)
  expect(appendPiece(known, piece(17, '!')).text).toBe('One two!')
})

test('history is put in front of later pieces, once', () => {
  const since = appendPiece(appendPiece(undefined, piece(3, 'lo ')), piece(6, 'all'))

  expect(withHistory(undefined, piece(0, 'Hel')).text).toBe('Hel')
  expect(withHistory(since, piece(0, 'Hello ')).text).toBe('Hello all')
  expect(withHistory(since, piece(0, 'Hello all')).text).toBe('Hello all')
  expect(appendPiece(withHistory(since, piece(0, 'Hello all')), piece(6, 'all')).text).toBe(
    'Hello all',
  )
})

test('characters are counted as the server counts them', () => {
  const since = appendPiece(undefined, piece(2, 'c'))

  expect(withHistory(since, piece(0, '\u{1F600}b')).text).toBe('\u{1F600}bc')
})

test('pieces of the next turn have higher numbers and are appended', () => {
  const last = appendPiece(undefined, piece(100, 'the end'))

  expect(appendPiece({ ...last, text: '' }, piece(5_000, 'anew')).text).toBe('anew')
  expect(lastCharacters(last, 3).text).toBe('end')
})
