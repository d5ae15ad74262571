import { expect, test } from 'vitest'
import { oneLine, logLineText, plainLines, reasonText } from './one-line'

test.each([
  [
    'The handler fell through to the **catch-all**; I return early.',
    'The handler fell through to the catch-all; I return early.',
  ],
  [
    'Down to 70 seconds. The rest is *sleeping*: three tests wait.',
    'Down to 70 seconds. The rest is sleeping: three tests wait.',
  ],
  ['Read `users.py` and ``a `b` c``', 'Read users.py and a `b` c'],
  ['## What I did', 'What I did'],
  ['message: - **one** _two words_ ~~three~~', 'message: one two words three'],
  [
    'see [the docs](https://docs.example/a "title") and ![x](https://evil.example/?leak)',
    'see the docs and x',
  ],
  ['first\n\n  second', 'first second'],
  ['bad_request: no *such* model', 'bad request: no such model'],
  ['ended: failed (out_of_budget: $2)', 'ended: failed (out of budget: $2)'],
])('%j in words', (markdown, words) => {
  expect(oneLine(markdown)).toBe(words)
})

test.each([
  'src/**/*.py and tests/**/*.py',
  '2 * 3 * 4',
  '*.py and *.ts',
  '__init__.py, _private and snake_case_name',
  'a ** b',
  '#12 is fixed',
  '<img src=x onerror=alert(1)>',
])('%j stays as it is', (text) => {
  expect(oneLine(text)).toBe(text)
})

test('in code nothing is a mark', () => {
  expect(oneLine('run `rm **/x*` or `a_b_c`')).toBe('run rm **/x* or a_b_c')
})

test('hidden characters are shown', () => {
  expect(oneLine('**a\u202eb** \x1b[31mred\x1b[0m')).toBe('a⟨U+202E⟩b red')
})

test('commands are not changed', () => {
  expect(logLineText({ type: 'asked', text: 'asks: rm *a* **b**' })).toBe('asks: rm *a* **b**')
  expect(logLineText({ type: 'noted', text: 'command: echo `date` *x*' })).toBe(
    'command: echo `date` *x*',
  )
  expect(logLineText({ type: 'noted', text: 'message: echo `date` *x*' })).toBe(
    'message: echo date x',
  )
  expect(reasonText('asks: rm *a*')).toBe('asks: rm *a*')
  expect(reasonText('next: *a*')).toBe('next: a')
})

test('many marks are read quickly', () => {
  for (const mark of ['*', '**', '` ', '````', '[', '_', '~~', '](', '*a ', ' _a b'])
    expect(oneLine(`x ${mark.repeat(50_000)}`)).toMatch(/^x/)
})

test('several lines stay lines', () => {
  expect(plainLines('**a**\n\n- `b`')).toBe('a\n\nb')
})
