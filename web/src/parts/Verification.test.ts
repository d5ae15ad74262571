import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import type { CheckLine } from '../lib/gate-checks'
import Verification from './Verification.svelte'

const GATE: CheckLine[] = [
  { name: 'Unit <b>tests</b>', state: 'failed', time: '2s / 600s', required: true },
  { name: 'Types', state: 'running', time: '', required: true },
]
const FAILURE = {
  ...{ name: 'Unit <b>tests</b>', verdict: 'exit code 1', seconds: 2 },
  output: '\x1b[31mred\x1b[0m \x1b]0;owned\x07<img src=x>',
}
const words = (element: Element | null | undefined) =>
  element?.textContent?.replace(/\s+/g, ' ').trim()

test('before a gate has run it says so', () => {
  expect(words(render(Verification, { gate: [] }).container)).toContain('No checks have run yet.')
})

test('each check has a line, and a failed one its verdict and output as text', () => {
  const { container } = render(Verification, { gate: GATE, failures: [FAILURE] })
  const [failed, running] = container.querySelectorAll('li')

  expect(words(failed)).toContain('✗ Unit <b>tests</b> failed (2s / 600s)')
  expect(words(failed)).toContain('exit code 1, after 2s')
  expect(failed?.querySelector('.fg1')?.textContent).toBe('red')
  expect(failed?.textContent).toContain('<img src=x>')
  expect(container.querySelector('b, img')).toBeNull()
  expect(words(running)).toBe('● Types running...')
})

test('a check that runs again has no output yet', () => {
  const gate: CheckLine[] = [{ name: FAILURE.name, state: 'running', time: '', required: true }]
  const { container } = render(Verification, { gate, failures: [FAILURE] })

  expect(container.textContent).not.toContain('exit code')
})

test('an optional check warns', () => {
  const gate: CheckLine[] = [
    { name: 'Style', state: 'timeout', time: '60s / 60s', required: false },
  ]
  const { container } = render(Verification, { gate })

  expect(words(container.querySelector('li'))).toBe('⚠ Style TIMEOUT, not required (60s / 60s)')
})
