import { describe, expect, it } from 'vitest'
import { defaultAgent, taskAgents } from './agents'
import type { AgentFinding } from './api-types'

const agent = (name: string, more: Partial<AgentFinding> = {}): AgentFinding => ({
  ...{ name, driver: 'codex', ready: true, finding: '', hint: '', first: false },
  ...{ token_budgets: '', can_edit: true, ...more },
})

describe('agents for tasks', () => {
  const gpt = agent('gpt', { can_edit: false })

  it('are those that can edit files', () => {
    expect(taskAgents([gpt, agent('codex')]).map(({ name }) => name)).toEqual(['codex'])
  })

  it('start with the configured first one', () => {
    expect(defaultAgent([gpt, agent('a'), agent('b', { first: true })])).toBe('b')
    expect(defaultAgent([gpt, agent('a')])).toBe('a')
    expect(defaultAgent([gpt])).toBe('')
  })
})
