import { render } from '@testing-library/svelte'
import { createRawSnippet } from 'svelte'
import { expect, test } from 'vitest'
import VirtualList from './VirtualList.svelte'

test('only the visible ones of a hundred thousand rows are drawn', () => {
  const { container } = render(VirtualList<number>, {
    total: 100_000,
    rows: (first: number, last: number) =>
      Array.from({ length: last - first }, (_, n) => first + n),
    row_px: 20,
    label: 'Log',
    key: (row: number) => row,
    row: createRawSnippet<[number, number]>((row) => ({ render: () => `<i>${row()}</i>` })),
  })

  expect(container.querySelectorAll('.row').length).toBeLessThan(60)
  expect(container.querySelector('.row')?.textContent).toBe('0')
})

test('visible rows stay in place when the log drops its oldest lines', async () => {
  const given = {
    rows: (first: number, last: number) =>
      Array.from({ length: last - first }, (_, n) => first + n),
    ...{ total: 6_000, row_px: 20, label: 'Log' },
    key: (row: number) => row,
    row: createRawSnippet<[number, number]>((row) => ({ render: () => `<i>${row()}</i>` })),
  }
  const { container, rerender } = render(VirtualList<number>, { ...given, dropped: 0 })
  const box = container.querySelector('.box')!
  box.scrollTop = 100_000

  await rerender({ ...given, total: 5_000, dropped: 1_250 })

  expect(box.scrollTop).toBe(75_000)
})
