import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import NoticeList from '../shell/NoticeList.svelte'
import { taskDialogs } from '../state/task-dialogs.svelte'
import { notices } from '../state/notices.svelte'
import type { TaskView } from '../lib/api-types'
import ActionDialog from './ActionDialog.svelte'

const HIDDEN = 'Say \u202egpj.exe\u200b'

test('hidden characters in a title are shown in the dialog', async () => {
  const task = { id: 't1', title: HIDDEN } as unknown as TaskView
  taskDialogs.action = { action: { name: 'say', label: 'Tell', text: { prompt: 'What' } }, task }
  const { container } = render(ActionDialog)

  expect(container.querySelector('h2')?.textContent).toContain('⟨U+202E⟩gpj.exe⟨U+200B⟩')
  taskDialogs.action = undefined
})

test('and in a notice', async () => {
  const { container, rerender } = render(NoticeList)

  notices.info(`Tell: ${HIDDEN}`)
  await rerender({})

  expect(container.textContent).toContain('⟨U+202E⟩gpj.exe⟨U+200B⟩')
})
