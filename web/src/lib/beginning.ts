// The first start: which step is next, and what can be picked.

import type { Checkup } from './wire'

export type Step = 'repository' | 'agent' | 'task'

/** The step a person is at. */
export function stepOf({ findings, has_file, has_agents }: Checkup): Step {
  if (findings.some(({ name, found }) => name === 'repository' && found === 'none here'))
    return 'repository'
  return has_file && has_agents ? 'task' : 'agent'
}

/** Who could work on tasks: with a file that is there already only the scripted agent is added. */
export function candidates({ agents, has_file }: Checkup): Checkup['agents'] {
  return agents.filter(({ can_edit, name }) => can_edit && (!has_file || name === 'scripted'))
}

/** What stands in the way of any work. */
export function missing({ findings }: Checkup): Checkup['findings'] {
  return findings.filter(({ ok, needed }) => needed && !ok)
}
