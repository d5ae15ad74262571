import { render } from '@testing-library/svelte'
import { createRawSnippet } from 'svelte'
import { expect, test } from 'vitest'
import Tabs from './Tabs.svelte'

const TABS = [
  { name: 'log', title: 'Log' },
  { name: 'changes', title: 'Changes', count: 3 },
]

function tabs(chosen: string) {
  const told: string[] = []
  const children = createRawSnippet(() => ({ render: () => '<p>inside</p>' }))
  const choose = (name: string) => told.push(name)
  const { container } = render(Tabs, { tabs: TABS, chosen, choose, label: 'Parts', children })
  return { told, buttons: [...container.querySelectorAll<HTMLElement>('[role=tab]')], container }
}

test('only the selected tab is reached by Tab, and it labels the panel', () => {
  const { buttons, container } = tabs('changes')

  expect(buttons.map(({ tabIndex }) => tabIndex)).toEqual([-1, 0])
  expect(buttons.map((each) => each.getAttribute('aria-selected'))).toEqual(['false', 'true'])
  const panel = container.querySelector('[role=tabpanel]')
  expect(panel?.getAttribute('aria-labelledby')).toBe('tab-changes')
  expect(panel?.textContent).toBe('inside')
})

test.each([
  ['ArrowRight', 'log', 'changes'],
  ['ArrowRight', 'changes', 'log'],
  ['ArrowLeft', 'log', 'changes'],
])('%s goes from %s to %s', (key, from, to) => {
  const { told, buttons } = tabs(from)
  const button = buttons.find(({ id }) => id === `tab-${from}`)!

  button.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))

  expect(told).toEqual([to])
})

test('a click selects, other keys do not', () => {
  const { told, buttons } = tabs('log')

  buttons[0]!.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }))
  buttons[1]!.click()

  expect(told).toEqual(['changes'])
})
