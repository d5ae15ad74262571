import { render } from '@testing-library/svelte'
import { createRawSnippet } from 'svelte'
import { expect, test } from 'vitest'
import Windowed from './Windowed.svelte'

test('of a hundred thousand rows only a screenful exists', () => {
  const { container } = render(Windowed<number>, {
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
