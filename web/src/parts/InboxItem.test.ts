import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import type { Waiting } from '../lib/api-types'
import InboxItem from './InboxItem.svelte'

const waiting = (more: Partial<Waiting>): Waiting => ({
  ...{ id: 'a1', run: 'auto1', kind: 'leave', text: 'rm -r \u202ebuild', do: '', title: 'Tests' },
  ...{ since: '2026-01-01T00:00:00Z', options: ['allow', 'session', 'deny'], questions: [] },
  ...{ task: '', hint: '', ...more },
})

test('a permission request shows its exact text, and no button is preferred', () => {
  const { container } = render(InboxItem, { waiting: waiting({}), isChosen: true })

  expect(container.textContent).toContain('U+202E')
  const labels = [...container.querySelectorAll('.options .button')].map((each) =>
    each.getAttribute('aria-label'),
  )
  expect(labels).toEqual(['Allow: Tests', 'Allow for this session: Tests', 'Deny: Tests'])
  expect(container.querySelector('.button.first')).toBeNull()
})

test('the usual answer of the selected item is its first button', () => {
  const stopped = waiting({ kind: 'limit', text: 'at its limit', options: ['resume', 'abort'] })
  const { container } = render(InboxItem, { waiting: stopped, isChosen: true })

  expect(container.querySelector('.button.first')?.textContent).toContain('Continue')
})

test('a question has a text box and its options', () => {
  const question = { text: 'Which?', options: [{ label: 'SQLite', text: '' }] }
  const asked = waiting({ kind: 'question', questions: [question] as never })
  const { container } = render(InboxItem, { waiting: asked })

  expect(container.querySelector('label input')).not.toBeNull()
  expect(container.querySelector('.options')?.textContent).toContain('SQLite')
})
