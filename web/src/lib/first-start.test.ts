import { expect, test } from 'vitest'
import { candidates, missing, stepOf } from './first-start'
import type { Checkup } from './api-types'

const agent = (name: string, can_edit = true) =>
  ({ name, can_edit, driver: 'codex', reason: '' }) as Checkup['agents'][number]

const here = (known: Partial<Checkup>): Checkup => ({
  findings: [],
  has_file: false,
  has_agents: false,
  agents: [agent('codex'), agent('gpt', false), agent('scripted')],
  checks: [],
  ...known,
})

test('U4 one step follows the other', () => {
  const nowhere = [{ name: 'repository', ok: false, found: 'none here', hint: '', needed: false }]

  expect(stepOf(here({ findings: nowhere }))).toBe('repository')
  expect(stepOf(here({}))).toBe('agent')
  expect(stepOf(here({ has_file: true }))).toBe('agent')
  expect(stepOf(here({ has_file: true, has_agents: true }))).toBe('task')
})

test('only agents that can edit files are offered, and only the script if allstop.toml exists', () => {
  expect(candidates(here({})).map(({ name }) => name)).toEqual(['codex', 'scripted'])
  expect(candidates(here({ has_file: true })).map(({ name }) => name)).toEqual(['scripted'])
})

test('missing requirements are listed', () => {
  const findings = [
    { name: 'git', ok: true, found: '2.50', hint: '', needed: true },
    { name: 'sandbox', ok: false, found: 'none', hint: 'install bubblewrap', needed: true },
    { name: 'agents', ok: false, found: 'none', hint: '', needed: false },
  ]

  expect(missing(here({ findings })).map(({ name }) => name)).toEqual(['sandbox'])
})
