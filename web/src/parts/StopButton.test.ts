import { render } from '@testing-library/svelte'
import { afterEach, expect, test } from 'vitest'
import { stopping } from '../state/stop.svelte'
import { world } from '../state/world.svelte'
import StopButton from './StopButton.svelte'

afterEach(() => {
  stopping.is = { is: 'ready' }
  world.hold = undefined
})

test('the red button is there, and Resume in its place once everything is stopped', () => {
  expect(render(StopButton).getByRole('button').textContent).toContain('ALLSTOP')

  world.hold = { hold: 'stopped', since: null, by: 'ann', stops: 1 }
  const { container } = render(StopButton)
  expect(container.querySelector('button')?.textContent).toBe('Resume')
  expect(container.textContent).toContain('stopped by ann')
})

test('who is signed out can still press it, and reads what helps', () => {
  stopping.is = { is: 'refused' }
  const { container } = render(StopButton)

  expect(container.textContent).toContain('`allstop stop` in a terminal')
  expect(container.querySelector('.allstop')).not.toBeNull()
})
