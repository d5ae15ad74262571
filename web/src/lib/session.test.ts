import { describe, expect, it } from 'vitest'
import {
  addressed,
  chip,
  isAllstop,
  isForRouter,
  orderFor,
  talked,
  usual,
  type Wish,
} from './session'
import type { SessionView } from './wire'

const SESSION: SessionView = {
  ...{ id: 's', mode: 'collaborate', goal: 'Talk.', agents: ['gpt', 'claude'], speaker: 'gpt' },
  ...{ round: 1, max_rounds: 6, turns: 0, tokens: 0, cost_usd: 0, waits_for: '' },
  ...{ respect_final: false, seconds: 10, began: null },
}

describe('the chip (R19)', () => {
  it('counts rounds, and turns where there is no end to them', () => {
    expect(chip(SESSION)).toBe('Collab: 0/6')
    expect(chip({ ...SESSION, turns: 4, round: 5 })).toBe('Collab: 4/6')
    const endless = { ...SESSION, mode: 'autopilot', max_rounds: null, turns: 16, round: 17 }
    expect(chip(endless)).toBe('Autopilot: running (turn 17)')
    expect(chip({ ...SESSION, mode: 'single', max_rounds: 2 })).toBe('Single: 0/2')
  })

  it('has a time that goes on during a turn', () => {
    expect(talked(SESSION, 0)).toBe(10)
    const began = new Date(5_000).toISOString()
    expect(talked({ ...SESSION, began }, 8_000)).toBe(13)
    expect(talked({ ...SESSION, began }, 1_000)).toBe(10)
  })
})

describe('what is typed', () => {
  it.each(['Allstop', 'ALL STOP', 'all-stop.', ' aLL_sTOP! '])('%s is a stop', (text) => {
    expect(isAllstop(text)).toBe(true)
    expect(isForRouter(text)).toBe(true)
  })

  it.each(['please allstop now', 'stop', '', 'allstops'])('%s is none', (text) => {
    expect(isAllstop(text)).toBe(false)
  })

  it('is for the router only if it begins so', () => {
    expect(isForRouter('@router autopilot gpt claude: Talk.')).toBe(true)
    expect(isForRouter('ask the @router')).toBe(false)
    expect(isForRouter('@routers')).toBe(false)
  })

  it('names whom it is for', () => {
    expect(addressed('hello @Claude, and @gpt', ['gpt', 'claude'])).toBe('claude')
    expect(addressed('mail me@gpt', ['gpt'])).toBeUndefined()
    expect(addressed('hi @gpt.', ['gpt'])).toBe('gpt')
  })
})

describe('a wish', () => {
  const wish: Wish = {
    ...{ mode: 'collaborate', agents: ['gpt', 'claude'], first: 'claude' },
    ...{ max_rounds: 4, respect_final: true },
  }

  it('is sent with what its mode knows', () => {
    const order = { kind: 'room', goal: 'Talk.', thread: 't', agents: wish.agents, first: 'claude' }
    expect(orderFor(wish, 'Talk.', 't')).toEqual({ ...order, mode: 'collaborate', max_rounds: 4 })
    expect(orderFor({ ...wish, mode: 'autopilot' }, 'Talk.', 't')).toEqual({
      ...order,
      ...{ mode: 'autopilot', respect_final: true },
    })
    expect(orderFor({ ...wish, mode: 'single' }, 'Talk.', 't')).toEqual({
      ...order,
      mode: 'single',
    })
  })

  it('begins with whom the goal names', () => {
    expect(orderFor(wish, '@gpt Talk.', 't').first).toBe('gpt')
  })

  it('has gpt and claude at the table, or the first two', () => {
    expect(usual(['a', 'claude', 'gpt'])).toEqual(['gpt', 'claude'])
    expect(usual(['a', 'b', 'gpt'])).toEqual(['a', 'b'])
  })
})
