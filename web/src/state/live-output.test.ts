import { expect, test } from 'vitest'
import { LiveOutputState } from './live-output.svelte'

const AT = 1_700_000_000_000_000
const piece = (kind: string, start: number, text: string) => {
  const [from, to] = [AT + start, AT + start + text.length]
  return { run: 'board/T1.1', kind, text, call: '', start: from, end: to }
}

test('text after a tool call is shown, although the call has higher numbers', () => {
  const live = new LiveOutputState()

  live.add(piece('text', 0, 'I look first. '))
  live.add(piece('reasoning', 400_000, 'Which file?'))
  live.add(piece('status', 900_000, 'Bash ls'))
  live.add(piece('text', 14, 'Found it.'))

  expect(live.text).toBe('I look first. Found it.')
  expect(live.reasoning).toBe('Which file?')
  expect(live.activity).toBe('Bash ls')
})

test('the activity is the latest status, and tool input is no text', () => {
  const live = new LiveOutputState()

  live.add(piece('status', 0, 'Bash ls'))
  live.add(piece('status', 7, 'Edit users.py'))
  live.add(piece('input', 20, '{"path": "users.py"}'))
  live.addHistory([piece('status', 0, 'Bash ls')])

  expect(live.activity).toBe('Edit users.py')
  expect(live.text).toBe('')
  live.add(piece('retry', 30, 'overloaded'))
  expect(live.activity).toBe('Trying again: overloaded')
})

test('the end of a turn clears the live output', () => {
  const live = new LiveOutputState()
  live.add(piece('text', 0, 'Done.'))
  live.add(piece('status', 0, 'Bash ls'))

  live.clear()

  expect([live.text, live.activity]).toEqual(['', ''])
})
