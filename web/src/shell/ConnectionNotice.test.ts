import { render } from '@testing-library/svelte'
import { afterEach, expect, test } from 'vitest'
import { connection } from '../state/connection.svelte'
import ConnectionNotice from './ConnectionNotice.svelte'

const BROKEN = { is: 'broken', since: Date.now(), why: 'the server is not reachable' } as const

afterEach(() => {
  connection.stream = { is: 'open' }
  connection.serverResponds = undefined
})

test('the notice says that ALLSTOP works only if the server has answered', async () => {
  connection.stream = BROKEN
  const { container } = render(ConnectionNotice)
  expect(container.textContent).not.toContain('ALLSTOP still works')
})

test('a server that answers can be stopped', () => {
  connection.stream = BROKEN
  connection.serverResponds = true

  expect(render(ConnectionNotice).container.textContent).toContain('ALLSTOP still works')
})

test('without a server the notice names the command for the terminal', () => {
  connection.stream = BROKEN
  connection.serverResponds = false

  const { textContent } = render(ConnectionNotice).container
  expect(textContent).toContain('allstop stop')
  expect(textContent).not.toContain('ALLSTOP still works')
})
