import { describe, expect, it } from 'vitest'
import { hear, joined, SILENCE } from './talk'
import type { RoomEvent } from './wire'

let seq = 0

function event(more: Partial<RoomEvent>): RoomEvent {
  return {
    ...{ type: 'system', sender: 'router', target: 'all', thread: 'default', text: '' },
    ...{ call_id: '', ts: 100, seq: ++seq, session_id: 's', round: 1, max_rounds: 6 },
    ...{ kind: null, usage: null, ...more },
  }
}

const goal = (text: string) =>
  event({ type: 'human_message', sender: 'you', target: 'router', text })
const asks = (target: string, text: string, call_id = `call-${target}`) =>
  event({ type: 'agent_call', target, text, call_id })
const answers = (sender: string, text: string) =>
  event({ type: 'agent_response', sender, text, call_id: `call-${sender}` })
const told = (kind: NonNullable<RoomEvent['kind']>, text: string = kind) => event({ kind, text })

function words(events: RoomEvent[]): string[] {
  return hear(SILENCE, events).entries.map((entry) => {
    if (entry.is === 'said') return `${entry.who}: ${entry.text}`
    return entry.is === 'handed' ? `→ ${entry.to}: ${entry.text}` : `(${entry.text})`
  })
}

describe('what was said', () => {
  it('is who said what, with the handoffs in between', () => {
    const found = words([
      goal('Talk.'),
      asks('gpt', 'Talk.'),
      answers('gpt', 'one'),
      asks('claude', 'Go on.'),
      answers('claude', 'two'),
      told('ended', 'It is over.'),
    ])
    expect(found).toEqual([
      'you: Talk.',
      'gpt: one',
      '→ claude: Go on.',
      'claude: two',
      '(It is over.)',
    ])
  })

  it('shows a handoff once, however often its call is tried', () => {
    const found = words([
      ...[goal('Talk.'), asks('gpt', 'Go on.')],
      ...[told('warning', 'gpt failed'), asks('gpt', 'Go on.', 'again')],
    ])
    expect(found).toEqual(['you: Talk.', '→ gpt: Go on.', '(gpt failed)'])
  })

  it('is the same however the events come in', () => {
    const events = [goal('Talk.'), asks('gpt', 'x'), answers('gpt', 'one'), told('suggestion')]
    const atOnce = hear(SILENCE, events)
    const oneByOne = events.reduce((talk, each) => hear(talk, [each]), SILENCE)
    expect(oneByOne).toEqual(atOnce)
  })
})

describe('a call', () => {
  it('is under way until it is answered, fails, or everything ends', () => {
    const begun = hear(SILENCE, [goal('Talk.'), asks('gpt', 'Talk.')])
    expect(begun.call).toEqual({ id: 'call-gpt', agent: 'gpt' })
    for (const end of [answers('gpt', 'one'), told('warning'), told('ended')])
      expect(hear(begun, [end]).call).toBeUndefined()
    expect(hear(begun, [told('reminder')]).call).toBeDefined()
  })
})

describe('a suggestion to finish', () => {
  const suggested = hear(SILENCE, [
    goal('Talk.'),
    answers('gpt', 'done'),
    told('suggestion', 'End?'),
  ])

  it('stands until somebody else speaks or it ends, and marks who made it', () => {
    expect(suggested.suggestion).toBe('End?')
    expect(suggested.entries.at(-1)).toMatchObject({ who: 'gpt', suggests: true })
    expect(hear(suggested, [answers('claude', 'more')]).suggestion).toBe('')
    expect(hear(suggested, [told('ended')]).suggestion).toBe('')
  })
})

describe('what was fetched and what was heard', () => {
  it('are joined with each event once', () => {
    const [one, two, three] = [goal('a'), answers('gpt', 'b'), told('ended')]
    expect(joined([one!, two!], [two!, three!])).toEqual([one, two, three])
    expect(joined([], [one!])).toEqual([one])
  })
})
