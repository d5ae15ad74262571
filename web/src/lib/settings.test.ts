import { expect, test } from 'vitest'
import {
  autopilotSettings,
  fieldText,
  fieldValue,
  matchingSettings,
  groupByTable,
  valueText,
  type Setting,
} from './settings'

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

  expect(groupByTable(rows.map((key) => row(key))).map(([name, of]) => [name, of.length])).toEqual([
    ['loop', 2],
    ['agents.a', 2],
    ['agents."b.c"', 1],
  ])
})

test('all words must match the key or the description', () => {
  const rows = [row('loop.mode'), row('room.max_rounds', { description: 'How long a talk is.' })]

  expect(matchingSettings(rows, { text: 'TALK room', onlyChanged: false })).toEqual([rows[1]])
  expect(matchingSettings(rows, { text: 'talk loop', onlyChanged: false })).toEqual([])
})

test('names come before descriptions', () => {
  const rows = [row('agents.a.idle', { description: 'Else loop.idle.' }), row('loop.idle')]

  expect(
    matchingSettings(rows, { text: 'loop', onlyChanged: false }).map(({ key }) => key),
  ).toEqual(['loop.idle', 'agents.a.idle'])
})

test('a setting is changed by its value, or because a file sets it', () => {
  const rows = [row('a.b'), row('a.c', { value: 2 }), row('a.d', { written: true })]

  expect(matchingSettings(rows, { text: '', onlyChanged: true }).map(({ key }) => key)).toEqual([
    'a.c',
    'a.d',
  ])
})

test('text becomes a value of the right type', () => {
  expect(fieldValue('switch', 'true')).toBe(true)
  expect(fieldValue('number', ' 2.5 ')).toBe(2.5)
  expect(fieldValue('number', 'two')).toBe('two')
  expect(fieldValue('number', '')).toBe('')
  expect(fieldValue('lines', 'a\n\n b \n')).toEqual(['a', 'b'])
  expect(fieldValue('tables', '[{"run": "x"}]')).toEqual([{ run: 'x' }])
  expect(() => fieldValue('tables', '[')).toThrow(SyntaxError)
})

test('a value goes into the field and comes back as it was', () => {
  for (const [form, value] of [
    ['lines', ['a', 'b']],
    ['tables', { a: [1] }],
    ['number', 3],
    ['switch', false],
    ['text', 'x'],
  ] as const)
    expect(fieldValue(form, fieldText(form, value))).toEqual(value)
})

test('values are valueText short', () => {
  expect([null, '', 'a', ['a', 'b'], [], { a: 1 }, false].map(valueText)).toEqual([
    'not set',
    '""',
    'a',
    'a, b',
    'none',
    '{"a":1}',
    'false',
  ])
})

test('p12 the group Autopilot has every setting of plans', () => {
  const keys = ['retry.max_retries', 'loop.agent', 'loop.mode', 'room.max_rounds', 'retry.jitter']
  const rows = keys.map((key) => ({ key }) as Setting)
  expect(autopilotSettings(rows).map(({ key }) => key)).toEqual([
    'retry.max_retries',
    'loop.agent',
    'retry.jitter',
  ])
})
