import { expect, test } from 'vitest'
import { formatOf, nameOf, understood } from './plan-form'

test('the format is found by the ending, else by the first character', () => {
  expect(['a.md', 'a.JSON', 'a.yml', 'a.txt'].map((name) => formatOf(name, '# A'))).toEqual([
    'markdown',
    'json',
    'yaml',
    'markdown',
  ])
  expect(formatOf('plan', ' {"phases": []}')).toBe('json')
})

test('a plan is named after its file', () => {
  expect(['parser.md', 'plans\\move.plan.yaml', 'PLAN'].map(nameOf)).toEqual([
    'parser',
    'move',
    'PLAN',
  ])
})

test('what was understood is counted', () => {
  const phases = [{ name: 'A', steps: [{ id: '1.1', text: 'one' }] }, { name: 'B' }]
  expect(understood({ plan: { phases }, problems: [] })).toBe('2 phases, 1 step')
})
