import { render } from '@testing-library/svelte'
import { afterEach, expect, test } from 'vitest'
import { world } from '../state/world.svelte'
import Connection from './Connection.svelte'

const BROKEN = { is: 'broken', since: Date.now(), why: 'the server is not reachable' } as const

afterEach(() => {
  world.stream = { is: 'open' }
  world.answers = undefined
})

test('that Allstop works is said only where the server has answered', async () => {
  world.stream = BROKEN
  const { container } = render(Connection)
  expect(container.textContent).not.toContain('ALLSTOP still works')
})

test('a server that answers is one that can be stopped', () => {
  world.stream = BROKEN
  world.answers = true

  expect(render(Connection).container.textContent).toContain('ALLSTOP still works')
})

test('where no server answers, the way without one is named', () => {
  world.stream = BROKEN
  world.answers = false

  const { textContent } = render(Connection).container
  expect(textContent).toContain('allstop stop')
  expect(textContent).not.toContain('ALLSTOP still works')
})
