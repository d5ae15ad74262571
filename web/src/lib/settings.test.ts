import { expect, test } from 'vitest'
import { asText, asValue, fitting, grouped, shown, type Setting } from './settings'

function row(key: string, more: Partial<Setting> = {}): Setting {
  return {
    key,
    value: 1,
    default: 1,
    origin: 'default',
    description: 'How many.',
    form: 'number',
    choices: [],
    expected: '',
    written: false,
    file_value: null,
    waits_for: '',
    trust: '',
    ...more,
  }
}

test('settings are grouped by table, and each agent is a group', () => {
  const rows = ['loop.mode', 'agents.a.model', 'agents."b.c".model', 'agents.a.env', 'loop.agent']

  expect(grouped(rows.map((key) => row(key))).map(([name, of]) => [name, of.length])).toEqual([
    ['loop', 2],
    ['agents.a', 2],
    ['agents."b.c"', 1],
  ])
})

test('all words must be found, in the key or in what it does', () => {
  const rows = [row('loop.mode'), row('room.max_rounds', { description: 'How long a talk is.' })]

  expect(fitting(rows, { text: 'TALK room', onlyOwn: false })).toEqual([rows[1]])
  expect(fitting(rows, { text: 'talk loop', onlyOwn: false })).toEqual([])
})

test('names come before descriptions', () => {
  const rows = [row('agents.a.idle', { description: 'Else loop.idle.' }), row('loop.idle')]

  expect(fitting(rows, { text: 'loop', onlyOwn: false }).map(({ key }) => key)).toEqual([
    'loop.idle',
    'agents.a.idle',
  ])
})

test('only what differs: by value, or because it is written', () => {
  const rows = [row('a.b'), row('a.c', { value: 2 }), row('a.d', { written: true })]

  expect(fitting(rows, { text: '', onlyOwn: true }).map(({ key }) => key)).toEqual(['a.c', 'a.d'])
})

test('what is filled in becomes a value of its kind', () => {
  expect(asValue('switch', 'true')).toBe(true)
  expect(asValue('number', ' 2.5 ')).toBe(2.5)
  expect(asValue('number', 'two')).toBe('two')
  expect(asValue('number', '')).toBe('')
  expect(asValue('lines', 'a\n\n b \n')).toEqual(['a', 'b'])
  expect(asValue('tables', '[{"run": "x"}]')).toEqual([{ run: 'x' }])
  expect(() => asValue('tables', '[')).toThrow(SyntaxError)
})

test('a value goes into the field and comes back as it was', () => {
  for (const [form, value] of [
    ['lines', ['a', 'b']],
    ['tables', { a: [1] }],
    ['number', 3],
    ['switch', false],
    ['text', 'x'],
  ] as const)
    expect(asValue(form, asText(form, value))).toEqual(value)
})

test('values are shown short', () => {
  expect([null, '', 'a', ['a', 'b'], [], { a: 1 }, false].map(shown)).toEqual([
    'not set',
    '""',
    'a',
    'a, b',
    'none',
    '{"a":1}',
    'false',
  ])
})
