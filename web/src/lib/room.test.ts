import { expect, test } from 'vitest'
import { chip, standing, wordsSoFar } from './room'
import type { RoomEvent } from './wire'

const event = (known: Partial<RoomEvent>): RoomEvent =>
  ({
    type: 'system',
    sender: 'router',
    target: 'all',
    thread: 't',
    text: '',
    call_id: '',
    ts: 100,
    seq: 1,
    session_id: 's1',
    round: 1,
    max_rounds: 6,
    ...known,
  }) as RoomEvent

const START = event({ type: 'human_message', sender: 'you', round: 0 })
const CALL = event({ type: 'agent_call', target: 'gpt' })
const REPLY = event({
  type: 'agent_response',
  sender: 'gpt',
  ts: 130,
  usage: { input: 900, output: 100, cost_microusd: 5_000 } as never,
})

test('counts up: Collab: 0/6, then 1/6', () => {
  expect(chip(standing([START])!)).toBe('Collab: 0/6')
  expect(chip(standing([START, CALL])!)).toBe('Collab: 0/6')
  expect(chip(standing([START, CALL, REPLY])!)).toBe('Collab: 1/6')
})

test('tokens, cost, time and who speaks are known', () => {
  expect(standing([START, CALL])).toMatchObject({ speaker: 'gpt', isOn: true })
  expect(standing([START, CALL, REPLY])).toMatchObject({
    speaker: '',
    tokens: 1_000,
    cost_usd: 0.005,
    began: 100,
    last: 130,
  })
})

test('Autopilot has no end of its own, and says at which turn it is', () => {
  const events = [START, CALL, REPLY].map((each) => ({ ...each, max_rounds: null, round: 17 }))

  expect(chip(standing(events)!)).toBe('Autopilot: running (turn 17)')
})

test('a suggestion stands until the next turn; an end ends it', () => {
  const suggestion = event({ kind: 'suggestion' as never })

  expect(standing([START, CALL, REPLY, suggestion])!.suggests).toBe(true)
  expect(standing([START, CALL, REPLY, suggestion, CALL])!.suggests).toBe(false)
  expect(standing([START, event({ kind: 'ended' as never })])!.isOn).toBe(false)
})

test('another session starts from nothing', () => {
  expect(standing([START, CALL, REPLY, event({ ...START, session_id: 's2' })])).toMatchObject({
    session: 's2',
    turns: 0,
  })
  expect(standing([event({ session_id: null })])).toBeUndefined()
})

test.each([
  ['plain words', 'plain words'],
  ['{"mess', ''],
  ['{"message": "Hel', 'Hel'],
  ['{"message": "a \\"b\\" \\u00e9\\', 'a "b" é'],
  ['{"message": "a\\u00', 'a'],
  ['{"handoff": {"to": "x"}, "message": "done", "final": true}', 'done'],
])('of %s the words are shown', (text, words) => {
  expect(wordsSoFar(text)).toBe(words)
})
