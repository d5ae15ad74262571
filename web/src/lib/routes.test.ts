import { expect, test } from 'vitest'
import { href, parse } from './routes'

test.each([
  ['', { page: 'home', what: '', query: {} }],
  ['#/board', { page: 'board', what: '', query: {} }],
  ['#/board?tag=ui&text=a%20b', { page: 'board', what: '', query: { tag: 'ui', text: 'a b' } }],
  ['#/runs/board/t1-1', { page: 'runs', what: 'board/t1-1', query: {} }],
  ['#/task/%E0%A4%A', { page: 'task', what: '%E0%A4%A', query: {} }],
])('reads %s', (hash, route) => {
  expect(parse(hash)).toEqual(route)
})

test('an address is parsed back to the same route', () => {
  expect(parse(href('runs', 'board/a b?', { at: '3', none: '' }))).toEqual({
    page: 'runs',
    what: 'board/a b?',
    query: { at: '3' },
  })
})
