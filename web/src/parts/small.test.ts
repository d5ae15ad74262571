// The smallest parts: a bar, a status, a hint, and what is said when something went wrong.
import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import { Refusal } from '../lib/api'
import Bar from './Bar.svelte'
import Hint from './Hint.svelte'
import Status from './Status.svelte'
import Trouble from './Trouble.svelte'

const meter = (used: number, limit: number) =>
  render(Bar, { used, limit, label: 'Cost: $1 of $2' }).container.querySelector('meter')!

test('a bar says how much of a limit is used, and warns when it is nearly all', () => {
  expect(meter(1, 2).getAttribute('value')).toBe('0.5')
  expect(meter(1, 2).getAttribute('aria-label')).toBe('Cost: $1 of $2')
  expect(meter(1, 2).classList).not.toContain('near')
  expect(meter(1.6, 2).classList).toContain('near')
  const share = render(Bar, { used: 2, limit: 2, label: 'all', isShare: true }).container
  expect(share.querySelector('meter')!.classList).not.toContain('near')
  expect(meter(9, 2).getAttribute('value')).toBe('1')
  expect(meter(1, 0).getAttribute('value') ?? '0').toBe('0')
})

test('a status has a word, also one that nobody knows', () => {
  const word = (status: string) => render(Status, { status }).container.textContent?.trim()

  expect(word('active')).toContain('running')
  expect(word('timed_out')).toContain('timed out')
})

test('commands in a hint stand out, and nothing in it is HTML', () => {
  const { container } = render(Hint, { text: 'Say `allstop agents`; <b>then</b> retry\u202e.' })

  expect(container.querySelector('code')?.textContent).toBe('allstop agents')
  expect(container.textContent).toBe('Say allstop agents; <b>then</b> retry⟨U+202E⟩.')
})

test('trouble says what helps, and can be tried again', () => {
  let tries = 0
  const error = new Refusal('there is no run \u202ex', 'runs here: board', 'not_found', 404)
  const { container } = render(Trouble, { error, again: () => tries++ })

  expect(container.textContent).toContain('there is no run ⟨U+202E⟩x')
  expect(container.textContent).toContain('runs here: board')
  container.querySelector('button')!.click()
  expect(tries).toBe(1)
})
