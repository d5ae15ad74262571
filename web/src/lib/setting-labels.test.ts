import { describe, expect, it } from 'vitest'
import { essentialOrder, isEssential, settingLabel, tableLabel } from './setting-labels'

describe('labels of settings', () => {
  it('are sentences for the essentials', () => {
    expect(settingLabel('loop.max_parallel')).toBe('Tasks at the same time')
    expect(isEssential('loop.max_parallel')).toBe(true)
    expect(essentialOrder('loop.agent')).toBeLessThan(essentialOrder('room.max_rounds'))
  })

  it('are the words of the key for the others, with the unit', () => {
    expect(settingLabel('workspace.keep_days')).toBe('Keep (days)')
    expect(settingLabel('retry.base_ms')).toBe('Base (milliseconds)')
    expect(settingLabel('budget.sprint.cost_usd')).toBe('Sprint · cost (US dollars)')
    expect(settingLabel('server.tls_cert')).toBe('TLS cert')
    expect(settingLabel('agents.gpt.driver')).toBe('Driver')
    expect(settingLabel('agents')).toBe('Agents')
    expect(isEssential('retry.base_ms')).toBe(false)
  })

  it('name the tables', () => {
    expect(tableLabel('verification')).toBe('Checks')
    expect(tableLabel('agents.gpt')).toBe('Agent gpt')
    expect(tableLabel('new_table')).toBe('New table')
  })
})
