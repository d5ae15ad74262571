import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import type { Waiting } from '../lib/wire'
import WaitingItem from './WaitingItem.svelte'

const waiting = (more: Partial<Waiting>): Waiting => ({
  ...{ id: 'a1', run: 'auto1', kind: 'leave', text: 'rm -r \u202ebuild', do: '', title: 'Tests' },
  ...{ since: '2026-01-01T00:00:00Z', options: ['allow', 'session', 'deny'], questions: [] },
  ...{ task: '', hint: '', ...more },
})

test('a permission shows what it is for exactly, and none of its answers is the first', () => {
  const { container } = render(WaitingItem, { waiting: waiting({}), isChosen: true })

  expect(container.textContent).toContain('U+202E')
  const labels = [...container.querySelectorAll('.options .button')].map((each) =>
    each.getAttribute('aria-label'),
  )
  expect(labels).toEqual(['Allow: Tests', 'Allow for this session: Tests', 'Deny: Tests'])
  expect(container.querySelector('.button.first')).toBeNull()
})

test('the usual answer of the chosen one is its first button', () => {
  const stopped = waiting({ kind: 'limit', text: 'at its limit', options: ['resume', 'abort'] })
  const { container } = render(WaitingItem, { waiting: stopped, isChosen: true })

  expect(container.querySelector('.button.first')?.textContent).toContain('Go on')
})

test('a question has a box and what was proposed', () => {
  const question = { text: 'Which?', options: [{ label: 'SQLite', text: '' }] }
  const asked = waiting({ kind: 'question', questions: [question] as never })
  const { container } = render(WaitingItem, { waiting: asked })

  expect(container.querySelector('label input')).not.toBeNull()
  expect(container.querySelector('.options')?.textContent).toContain('SQLite')
})
