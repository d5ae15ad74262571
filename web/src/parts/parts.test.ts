// The smallest parts: meter, status, text with code, error panel.
import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import { Refusal } from '../lib/api'
import Meter from './Meter.svelte'
import TextWithCode from './TextWithCode.svelte'
import Status from './Status.svelte'
import ErrorPanel from './ErrorPanel.svelte'

const meter = (used: number, limit: number) =>
  render(Meter, { used, limit, label: 'Cost: $1 of $2' }).container.querySelector('meter')!

test('a meter shows how much of a limit is used, and warns near its end', () => {
  expect(meter(1, 2).getAttribute('value')).toBe('0.5')
  expect(meter(1, 2).getAttribute('aria-label')).toBe('Cost: $1 of $2')
  expect(meter(1, 2).classList).not.toContain('near')
  expect(meter(1.6, 2).classList).toContain('near')
  const share = render(Meter, { used: 2, limit: 2, label: 'all', isShare: true }).container
  expect(share.querySelector('meter')!.classList).not.toContain('near')
  expect(meter(9, 2).getAttribute('value')).toBe('1')
  expect(meter(1, 0).getAttribute('value') ?? '0').toBe('0')
})

test('every status has a word, even an unknown one', () => {
  const word = (status: string) => render(Status, { status }).container.textContent?.trim()

  expect(word('active')).toContain('running')
  expect(word('timed_out')).toContain('timed out')
})

test('commands in a text are code, and nothing in it is HTML', () => {
  const { container } = render(TextWithCode, {
    text: 'Say `allstop agents`; <b>then</b> retry\u202e.',
  })

  expect(container.querySelector('code')?.textContent).toBe('allstop agents')
  expect(container.textContent).toBe('Say allstop agents; <b>then</b> retry⟨U+202E⟩.')
})

test('an error panel has a hint and a button', () => {
  let tries = 0
  const error = new Refusal('there is no run \u202ex', 'runs here: board', 'not_found', 404)
  const { container } = render(ErrorPanel, { error, again: () => tries++ })

  expect(container.textContent).toContain('there is no run ⟨U+202E⟩x')
  expect(container.textContent).toContain('runs here: board')
  container.querySelector('button')!.click()
  expect(tries).toBe(1)
})
