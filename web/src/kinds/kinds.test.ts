import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import type { RunView } from '../lib/api-types'
import { PAGES } from '../pages'
import { kindOf, KINDS } from '.'

const run = (kind: string): RunView =>
  ({
    ...{
      id: `${kind}1`,
      kind,
      title: 'Ship it',
      status: 'running',
      actions: ['pause', 'stop'],
      reason: '',
      parent: null,
    },
    ...{ opened_at: '2026-01-01T00:00:00Z', outcome: null, tally: { turns: 2, input: 1_500 } },
  }) as unknown as RunView

test('every kind that the server knows has an entry', () => {
  expect(KINDS.map(({ kind }) => kind).toSorted()).toEqual([
    'auto',
    'board',
    'draft',
    'merge',
    'plan',
    'room',
    'task',
  ])
})

test('the page of a kind is in the table of pages', () => {
  for (const { page } of KINDS) if (page) expect(PAGES).toContain(page)
})

test('each kind of run has an address', () => {
  expect(kindOf('auto').address('auto1')).toBe('#/auto/auto1')
  expect(kindOf('plan').address('plan1')).toBe('#/plans/plan1')
  expect(kindOf('draft').address('draft1')).toBe('#/plans?draft=draft1')
  expect(kindOf('room').address('room:default')).toBe('#/rooms/default')
  expect(kindOf('task').address('board/T1.1')).toBe('#/history/board/T1.1')
})

test('an unknown kind has a card with title, status, tokens and actions, and its log as page', () => {
  const kind = kindOf('audit')
  const { container } = render(kind.card, { run: run('audit') })

  expect(kind.label).toBe('audit')
  expect(container.querySelector('a')!.getAttribute('href')).toBe('#/history/audit1')
  expect(container.textContent).toMatch(/running.*Ship it.*1\.5k tokens/s)
  expect([...container.querySelectorAll('button')].map((each) => each.textContent)).toEqual([
    'Pause',
    'Stop',
  ])
})

test('a queued start can be approved and rejected on its card', () => {
  const start = { ...run('start'), actions: ['approve', 'reject'] } as RunView
  const { container } = render(kindOf('start').card, { run: start })

  expect([...container.querySelectorAll('button')].map((each) => each.textContent)).toEqual([
    'Approve',
    'Reject',
  ])
})

test('every kind has a card that can be drawn', () => {
  for (const { kind, card } of KINDS)
    expect(render(card, { run: run(kind) }).container.textContent).toContain('Ship it')
})
