// Text of agents on a thread's page shows hidden characters and never becomes HTML.
import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import type { AutoView, DecisionReceipt } from '../../lib/api-types'
import ThreadPlan from './ThreadPlan.svelte'
import ReceiptCard from './ReceiptCard.svelte'

const hostile = (what: string) => `${what} <img src=x> \x1b]0;t\x07\x1b[31m\u202eend`
const shown = (what: string) => `${what} <img src=x> ⟨U+202E⟩end`

function textOf(container: HTMLElement): string {
  expect(container.querySelector('img')).toBeNull()
  expect(container.textContent).not.toMatch(/[\x07\x1b\u202e]/)
  return container.textContent ?? ''
}

test('the plan of a thread and that of its agent', () => {
  const plan = {
    ...{ goal: hostile('goal'), done_when: hostile('done') },
    ...{ tried: [hostile('tried')], next: hostile('next') },
  }
  const auto = { agent: 'codex', plan, agent_plan: hostile('first\n\nown') }
  const { container } = render(ThreadPlan, { auto: auto as unknown as AutoView })

  const text = textOf(container)
  for (const what of ['goal', 'done', 'tried', 'next', 'own']) expect(text).toContain(shown(what))
})

test('the receipt of a decision', () => {
  const receipt = {
    seq: 7,
    decision: {
      ...{ turn: 2, action: 'pause', reason: hostile('reason'), by: hostile('by') },
      ...{ overridden: 'continue', condition: hostile('condition'), next_input: hostile('input') },
    },
    summary: {
      ...{ status: 'failed', error: hostile('error'), plan: hostile('plan'), unanswered: [] },
      ...{ said: { signal: 'progress', text: hostile('said') }, text: hostile('first\n\nwords') },
    },
    history: { errors: [] },
  }
  const { container } = render(ReceiptCard, { receipt: receipt as unknown as DecisionReceipt })

  const text = textOf(container)
  const all = ['reason', 'by', 'condition', 'input', 'error', 'plan', 'said', 'words']
  for (const what of all) expect(text).toContain(shown(what))
})
