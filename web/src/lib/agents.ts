// Which agents can do what.

import type { AgentFinding } from './api-types'

/** Agents that can edit files, and so do tasks. The others can only chat in rooms. */
export function taskAgents(agents: readonly AgentFinding[]): AgentFinding[] {
  return agents.filter(({ can_edit }) => can_edit !== false)
}

/** The agent that works on a task if nobody chooses one: the configured first, else the first. */
export function defaultAgent(agents: readonly AgentFinding[]): string {
  const able = taskAgents(agents)
  return (able.find(({ first }) => first) ?? able[0])?.name ?? ''
}
