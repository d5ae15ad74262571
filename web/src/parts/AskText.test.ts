import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import NoticeList from '../shell/NoticeList.svelte'
import { doing } from '../state/doing.svelte'
import { notices } from '../state/notices.svelte'
import type { TaskView } from '../lib/wire'
import AskText from './AskText.svelte'

const HIDDEN = 'Say \u202egpj.exe\u200b'

test('a title that hides characters shows them where a person is asked', async () => {
  const task = { id: 't1', title: HIDDEN } as unknown as TaskView
  doing.asks = { deed: { name: 'say', label: 'Tell', text: { ask: 'What' } }, task }
  const { container } = render(AskText)

  expect(container.querySelector('h2')?.textContent).toContain('⟨U+202E⟩gpj.exe⟨U+200B⟩')
  doing.asks = undefined
})

test('and in a notice', async () => {
  const { container, rerender } = render(NoticeList)

  notices.tell(`Tell: ${HIDDEN}`)
  await rerender({})

  expect(container.textContent).toContain('⟨U+202E⟩gpj.exe⟨U+200B⟩')
})
