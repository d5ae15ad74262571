import { render } from '@testing-library/svelte'
import { afterEach, expect, test } from 'vitest'
import { allstop } from '../state/stop.svelte'
import StopButton from './StopButton.svelte'

afterEach(() => {
  allstop.request = { is: 'ready' }
  allstop.hold = undefined
})

test('ALLSTOP is shown, and Resume instead once everything is stopped', () => {
  expect(render(StopButton).getByRole('button').textContent).toContain('ALLSTOP')

  allstop.hold = { hold: 'stopped', since: null, by: 'ann', stops: 1 }
  const { container } = render(StopButton)
  expect(container.querySelector('button')?.textContent).toBe('Resume')
  expect(container.textContent).toContain('Stopped by ann')
})

test('a browser that is signed out keeps the button and gets a hint', () => {
  allstop.request = { is: 'refused' }
  const { container } = render(StopButton)

  expect(container.textContent).toContain('allstop stop in a terminal')
  expect(container.querySelector('.allstop')).not.toBeNull()
})
