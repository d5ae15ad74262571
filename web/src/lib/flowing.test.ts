import { expect, test } from 'vitest'
import { ending, heard, recalled } from './flowing'

const piece = (start: number, text: string) => ({ start, end: start + [...text].length, text })

test('pieces follow each other, and one that is known changes nothing', () => {
  const flow = heard(heard(undefined, piece(10, 'One ')), piece(14, 'two'))

  expect(flow).toEqual({ start: 10, end: 17, text: 'One two' })
  expect(heard(flow, piece(14, 'two'))).toBe(flow)
  expect(heard(flow, piece(17, '!')).text).toBe('One two!')
})

test('what was said before is put in front of what came in since, once', () => {
  const since = heard(heard(undefined, piece(3, 'lo ')), piece(6, 'all'))

  expect(recalled(undefined, piece(0, 'Hel')).text).toBe('Hel')
  expect(recalled(since, piece(0, 'Hello ')).text).toBe('Hello all')
  expect(recalled(since, piece(0, 'Hello all')).text).toBe('Hello all')
  expect(heard(recalled(since, piece(0, 'Hello all')), piece(6, 'all')).text).toBe('Hello all')
})

test('characters are counted as the server counts them', () => {
  const since = heard(undefined, piece(2, 'c'))

  expect(recalled(since, piece(0, '\u{1F600}b')).text).toBe('\u{1F600}bc')
})

test('a turn after it has higher numbers, so nothing of it is taken for known', () => {
  const last = heard(undefined, piece(100, 'the end'))

  expect(heard({ ...last, text: '' }, piece(5_000, 'anew')).text).toBe('anew')
  expect(ending(last, 3).text).toBe('end')
})
