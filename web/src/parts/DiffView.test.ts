import { render } from '@testing-library/svelte'
import { expect, test } from 'vitest'
import type { Diff } from '../lib/api-types'
import { RemarkDrafts } from '../state/remark-drafts.svelte'
import DiffView from './DiffView.svelte'

const head = (name: string) =>
  `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n@@ -0,0 +1 @@\n`
const known = (path: string, added: number) => ({ path, change: 'added', added, removed: 0 })

function shown(diff: Partial<Diff>) {
  const whole = { task: 'T1', base: 'b'.repeat(40), tip: 'c'.repeat(40), cut: false, ...diff }
  const remarkDrafts = new RemarkDrafts('T1', '/tasks')
  const { container } = render(DiffView, {
    ...{ diff: whole as Diff, isSideBySide: false, remarkDrafts, canRemark: false },
  })
  return container
}

test('a file without lines is listed, and a cut one says so', () => {
  const container = shown({
    patch: `${head('whole')}+x\n${head('half')}+x\n`,
    files: [known('whole', 1), known('half', 9), known('run.sh', 3)],
    cut: true,
  })

  const [whole, half] = container.querySelectorAll('details')
  expect(whole?.textContent).not.toContain('too long')
  expect(half?.textContent).toContain('too long')
  expect(container.querySelector('p.panel')?.textContent).toMatch(/run\.sh\s+added\s+\+3/)
  expect(container.textContent).toContain('git diff bbbbbbbbbb cccccccccc')
})

test('a long file is drawn only when it is opened', () => {
  const patch = head('long') + '+x\n'.repeat(2_000) + head('short') + '+x\n'
  const container = shown({ patch, files: [known('long', 2_000), known('short', 1)] })

  const [long, short] = container.querySelectorAll('details')
  expect([long?.open, long?.querySelector('sessionSetup')]).toEqual([false, null])
  expect(short?.querySelectorAll('tr')).toHaveLength(1)
})

test('control characters are shown', () => {
  const container = shown({ patch: `${head('odd')}+\x1b[2Jx\ry\tz\r\n`, files: [known('odd', 1)] })

  expect(container.querySelector('td.text')?.textContent).toBe('⟨U+001B⟩[2Jx⟨U+000D⟩y\tz\r')
})
