// Settings in the words of people: a label for each key, a name for each table, and the essentials.

/** The settings that most people change, in the order of the page. */
const ESSENTIALS: Readonly<Record<string, string>> = {
  'loop.agent': 'Agent for tasks',
  'loop.max_parallel': 'Tasks at the same time',
  'loop.mode': 'How the board starts tasks',
  'loop.timeout_minutes': 'Time for one attempt (minutes)',
  'verification.commands': 'Checks that work must pass',
  'review.mode': 'When you review work',
  'merge.enabled': 'Merge approved work',
  'budget.day.cost_usd': 'Budget for one day (US dollars)',
  'budget.task.cost_usd': 'Budget for one task (US dollars)',
  'budget.at_limit': 'What happens at a limit',
  'sandbox.network': 'Network access of agents',
  'approvals.boxed': 'Commands inside the sandbox',
  'room.max_rounds': 'Rounds of a collaboration',
  'room.max_minutes': 'Time limit of a room’s session (minutes)',
  'notify.quiet': 'Quiet hours',
}

/** The settings of plans that stand in other tables than `retry`. */
const AUTOPILOT = ['agent', 'fallback', 'order', 'auto_execute', 'compact_at_tokens'].map(
  (name) => `loop.${name}`,
)

const TABLES: Readonly<Record<string, string>> = {
  project: 'Project',
  agents: 'Agents',
  loop: 'Tasks',
  verification: 'Checks',
  workspace: 'Workspaces',
  merge: 'Merging',
  review: 'Review',
  room: 'Rooms',
  auto: 'Full auto',
  retry: 'Retries and limits of providers',
  budget: 'Budgets',
  sprint: 'Sprints',
  approvals: 'Approvals',
  limits: 'Limits of the machine',
  prices: 'Prices',
  sandbox: 'Sandbox',
  server: 'Control room',
  notify: 'Notifications',
  traces: 'Traces',
  hooks: 'Hooks',
  store: 'Journal',
}

const UNITS: Readonly<Record<string, string>> = {
  s: 'seconds',
  ms: 'milliseconds',
  mb: 'MB',
  usd: 'US dollars',
  minutes: 'minutes',
  hours: 'hours',
  days: 'days',
  seconds: 'seconds',
}

const ACRONYMS = /\b(tls|url|urls|usd|ci)\b/g

export function isEssential(key: string): boolean {
  return key in ESSENTIALS
}

/** Whether it decides how plans run. */
export function isAutopilot(key: string): boolean {
  return key.startsWith('retry.') || AUTOPILOT.includes(key)
}

/** Essentials first, in the order of the page. */
export function essentialOrder(key: string): number {
  return Object.keys(ESSENTIALS).indexOf(key)
}

/** "Tasks at the same time"; other keys in their own words: "Keep (days)". */
export function settingLabel(key: string): string {
  const known = ESSENTIALS[key]
  if (known) return known
  const parts = key.split('.')
  const shown = parts.length > 1 ? parts.slice(parts[0] === 'agents' ? 2 : 1) : parts
  return words(shown.join(' · ') || key)
}

/** "Checks"; the table of an agent is named after it. */
export function tableLabel(table: string): string {
  const agent = /^agents\.(.+)$/.exec(table)?.[1]
  return agent ? `Agent ${agent.replaceAll('"', '')}` : (TABLES[table] ?? words(table))
}

function words(name: string): string {
  const parts = name.split('_')
  const unit = parts.length > 1 ? UNITS[parts.at(-1)!] : undefined
  const text = (unit ? parts.slice(0, -1) : parts).join(' ')
  const spelled = text.replace(ACRONYMS, (word) => word.toUpperCase())
  const shown = spelled.charAt(0).toUpperCase() + spelled.slice(1)
  return unit ? `${shown} (${unit})` : shown
}
