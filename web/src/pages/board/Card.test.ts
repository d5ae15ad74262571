import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import type { TaskView } from '../../lib/api-types'
import Card from './Card.svelte'

const task = (more: Partial<TaskView> = {}): TaskView =>
  ({
    ...{ id: 'T7', title: 'Page the log', status: 'pending', agent: 'codex', note: '' },
    ...{ ready: true, pinned: false, cost_usd: 0, attempts: [], waits_for: [], run: null },
    ...{ iterations: null, ...more },
  }) as unknown as TaskView

function card(more: Partial<TaskView> = {}, props: object = {}) {
  const ignore = () => undefined
  const given = { isChosen: false, mark: '' as const, showsStatus: false, choose: ignore }
  return render(Card, { task: task(more), ...given, drag: ignore, ...props }).container
    .firstElementChild as HTMLAnchorElement
}

const words = (element: Element) => element.textContent?.replace(/\s+/g, ' ').trim()

test('a card leads to its task and names its agent', () => {
  const shown = card()

  expect(shown.id).toBe('card-T7')
  expect(shown.getAttribute('href')).toBe('#/task/T7')
  expect(words(shown)).toBe('Page the log T7 codex')
})

test('iterations, cost and age are shown once there are some', () => {
  const attempt = { run: 'board/T7.1', began_at: new Date(0).toISOString(), tally: { turns: 3 } }
  const shown = card({
    ...{ status: 'review', attempts: [attempt] as never, iterations: 50, cost_usd: 0.25 },
  })

  expect(words(shown.querySelector('.facts')!)).toMatch(/^T7 codex ↻ 3\/50 \$0\.25 \d+d$/)
})

test('a task that waits for others says for which, and is quiet', () => {
  const shown = card({ ready: false, waits_for: ['T2', 'T3'] })

  expect(words(shown.querySelector('.why')!)).toBe('after T2, T3')
  expect(shown.classList).toContain('quiet')
})

test('text has no Markdown marks and no hidden characters', () => {
  const shown = card({
    ...{ status: 'blocked', title: 'Say `hi` \u202etwice', note: 'the **build** <b>image</b>' },
  })

  expect(words(shown.querySelector('.title')!)).toBe('Say hi ⟨U+202E⟩twice')
  expect(words(shown.querySelector('.why')!)).toBe('the build <b>image</b>')
  expect(shown.querySelector('b')).toBeNull()
})

test('the status is shown only in columns with several', () => {
  expect(card({ status: 'failed' }, { showsStatus: true }).textContent).toContain('failed')
  expect(card({ status: 'failed' }).textContent).not.toContain('failed')
})

test('it shows that it is selected or pinned, and where a card would be dropped', () => {
  const shown = card({ pinned: true }, { isChosen: true, mark: 'above' })

  expect([...shown.classList]).toEqual(expect.arrayContaining(['chosen', 'above']))
  expect(words(shown.querySelector('.title')!)).toBe('▲Page the log')
})

test('focus selects it, and a press starts a drag', () => {
  const told: string[] = []
  const shown = card({}, { choose: () => told.push('chosen'), drag: () => told.push('dragged') })

  shown.dispatchEvent(new FocusEvent('focus'))
  shown.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))

  expect(told).toEqual(['chosen', 'dragged'])
})
