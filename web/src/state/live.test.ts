import { expect, test } from 'vitest'
import { Live } from './live.svelte'

const AT = 1_700_000_000_000_000
const piece = (kind: string, start: number, text: string) => {
  const [from, to] = [AT + start, AT + start + text.length]
  return { run: 'board/T1.1', kind, text, call: '', start: from, end: to }
}

test('words that follow the first tool call are shown, although that has higher numbers', () => {
  const live = new Live()

  live.say(piece('text', 0, 'I look first. '))
  live.say(piece('reasoning', 400_000, 'Which file?'))
  live.say(piece('status', 900_000, 'Bash ls'))
  live.say(piece('text', 14, 'Found it.'))

  expect(live.text).toBe('I look first. Found it.')
  expect(live.reasoning).toBe('Which file?')
  expect(live.doing).toBe('Bash ls')
})

test('what it does now is the latest of it, and what a tool is given is no word', () => {
  const live = new Live()

  live.say(piece('status', 0, 'Bash ls'))
  live.say(piece('status', 7, 'Edit users.py'))
  live.say(piece('input', 20, '{"path": "users.py"}'))
  live.recall([piece('status', 0, 'Bash ls')])

  expect(live.doing).toBe('Edit users.py')
  expect(live.text).toBe('')
  live.say(piece('retry', 30, 'overloaded'))
  expect(live.doing).toBe('tries again: overloaded')
})

test('when the turn is over all of it is in the log', () => {
  const live = new Live()
  live.say(piece('text', 0, 'Done.'))
  live.say(piece('status', 0, 'Bash ls'))

  live.end()

  expect([live.text, live.doing]).toEqual(['', ''])
})
