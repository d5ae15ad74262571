import { describe, expect, it } from 'vitest'
import {
  mentionedAgent,
  statusChip,
  isAllstop,
  isForRouter,
  sessionBody,
  elapsedSeconds,
  endReason,
  defaultAgents,
  setupProblem,
  setupText,
  unknownAgent,
  type SessionRequest,
} from './room-session'
import type { SessionView, Summary } from './api-types'

const SESSION: SessionView = {
  ...{ id: 's', mode: 'collaborate', goal: 'Talk.', agents: ['gpt', 'claude'], speaker: 'gpt' },
  ...{ round: 1, max_rounds: 6, turns: 0, tokens: 0, cost_usd: 0, waits_for: '' },
  ...{ respect_final: false, seconds: 10, began: null },
}

describe('the status chip (R19)', () => {
  it('counts rounds, or turns in Autopilot', () => {
    expect(statusChip(SESSION)).toBe('Collab: 0/6')
    expect(statusChip({ ...SESSION, turns: 4, round: 5 })).toBe('Collab: 4/6')
    const endless = { ...SESSION, mode: 'autopilot', max_rounds: null, turns: 16, round: 17 }
    expect(statusChip(endless)).toBe('Autopilot: running (turn 17)')
    expect(statusChip({ ...SESSION, mode: 'single', max_rounds: 2 })).toBe('Single: 0/2')
  })

  it('has a time that includes the current turn', () => {
    expect(elapsedSeconds(SESSION, 0)).toBe(10)
    const began = new Date(5_000).toISOString()
    expect(elapsedSeconds({ ...SESSION, began }, 8_000)).toBe(13)
    expect(elapsedSeconds({ ...SESSION, began }, 1_000)).toBe(10)
  })
})

describe('a typed message', () => {
  it.each(['Allstop', 'ALL STOP', 'all-stop.', ' aLL_sTOP! '])('%s is a stop', (text) => {
    expect(isAllstop(text)).toBe(true)
    expect(isForRouter(text)).toBe(true)
  })

  it.each(['please allstop now', 'stop', '', 'allstops'])('%s is none', (text) => {
    expect(isAllstop(text)).toBe(false)
  })

  it('is for the router only if it starts with it', () => {
    expect(isForRouter('@router autopilot gpt claude: Talk.')).toBe(true)
    expect(isForRouter('ask the @router')).toBe(false)
    expect(isForRouter('@routers')).toBe(false)
  })

  it('mentions an agent', () => {
    expect(mentionedAgent('hello @Claude, and @gpt', ['gpt', 'claude'])).toBe('claude')
    expect(mentionedAgent('mail me@gpt', ['gpt'])).toBeUndefined()
    expect(mentionedAgent('hi @gpt.', ['gpt'])).toBe('gpt')
  })
})

describe('a message to an agent that does not take part', () => {
  const names = ['gpt', 'claude']

  it.each(['@bob hi', '  @bob', '@Bob, please', '@bob: go on'])('is found: %s', (text) => {
    expect(unknownAgent(text, names)?.toLowerCase()).toBe('bob')
  })

  it.each(['@GPT hi', '@router status', 'hi @bob', '@types/node fails', 'bob@home', '@'])(
    'is none: %s',
    (text) => expect(unknownAgent(text, names)).toBeUndefined(),
  )
})

describe('a session request', () => {
  const wish: SessionRequest = {
    ...{ mode: 'collaborate', agents: ['gpt', 'claude'], first: 'claude' },
    ...{ max_rounds: 4, respect_final: true },
  }

  it('is sent with the options of its mode', () => {
    const order = { kind: 'room', goal: 'Talk.', thread: 't', agents: wish.agents, first: 'claude' }
    expect(sessionBody(wish, 'Talk.', 't')).toEqual({
      ...order,
      mode: 'collaborate',
      max_rounds: 4,
    })
    expect(sessionBody({ ...wish, mode: 'autopilot' }, 'Talk.', 't')).toEqual({
      ...order,
      ...{ mode: 'autopilot', respect_final: true },
    })
    expect(sessionBody({ ...wish, mode: 'single' }, 'Talk.', 't')).toEqual({
      ...order,
      mode: 'single',
    })
  })

  it('starts with the agent that the goal mentions', () => {
    expect(sessionBody(wish, '@gpt Talk.', 't').first).toBe('gpt')
  })

  it('is one sentence', () => {
    expect(setupText(wish)).toBe('claude → gpt · 4 rounds')
    expect(setupText({ ...wish, first: 'gpt', max_rounds: 1 })).toBe('gpt → claude · 1 round')
    expect(setupText({ ...wish, mode: 'single' })).toBe('asks claude')
    expect(setupText({ ...wish, mode: 'autopilot' })).toBe('claude → gpt · until they finish')
    expect(setupText({ ...wish, agents: [], first: '' })).toBe('no agents · 4 rounds')
  })

  it.each([0, -1, 1.5, 1_001, NaN])('with %s rounds is refused', (max_rounds) => {
    expect(setupProblem({ ...wish, max_rounds })).toBe('A session has 1 to 1,000 rounds.')
    expect(setupProblem({ ...wish, max_rounds, mode: 'autopilot' })).toBe('')
  })

  it('with some rounds is not', () => {
    expect(setupProblem(wish)).toBe('')
  })

  it('has gpt and claude by default, or the first two', () => {
    expect(defaultAgents(['a', 'claude', 'gpt'])).toEqual(['gpt', 'claude'])
    expect(defaultAgents(['a', 'b', 'gpt'])).toEqual(['a', 'b'])
  })
})

describe('the end of a session', () => {
  it('is an answer in Single mode', () => {
    const ended = (mode: string, reason: string) => endReason({ mode, reason } as Summary)

    expect(ended('single', 'cap_reached')).toBe('answered')
    expect(ended('collaborate', 'cap_reached')).toBe('cap reached')
    expect(ended('single', 'agent_failed')).toBe('agent failed')
  })
})
