// The first start: the next step, the agents to choose from, and missing requirements.

import type { Checkup } from './api-types'

export type Step = 'repository' | 'agent' | 'task'

export function stepOf({ findings, has_file, has_agents }: Checkup): Step {
  if (findings.some(({ name, found }) => name === 'repository' && found === 'none here'))
    return 'repository'
  return has_file && has_agents ? 'task' : 'agent'
}

/** Agents to choose from. To an existing allstop.toml only the scripted agent can be added. */
export function candidates({ agents, has_file }: Checkup): Checkup['agents'] {
  return agents.filter(({ can_edit, name }) => can_edit && (!has_file || name === 'scripted'))
}

/** Requirements that are not met: no task can run before. */
export function missing({ findings }: Checkup): Checkup['findings'] {
  return findings.filter(({ ok, needed }) => needed && !ok)
}
