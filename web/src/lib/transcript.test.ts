import { describe, expect, it } from 'vitest'
import { withEvents, mergedEvents, EMPTY_TRANSCRIPT } from './transcript'
import type { RoomEvent } from './api-types'

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
  return withEvents(EMPTY_TRANSCRIPT, events).entries.map((entry) => {
    if (entry.is === 'message') return `${entry.who}: ${entry.text}`
    if (entry.is === 'session') return `Session ${entry.number}: ${entry.text}`
    return entry.is === 'handoff' ? `→ ${entry.to}: ${entry.text}` : `(${entry.text})`
  })
}

describe('the transcript', () => {
  it('has messages with the handoffs in between', () => {
    const found = words([
      goal('Transcript.'),
      asks('gpt', 'Transcript.'),
      answers('gpt', 'one'),
      asks('claude', 'Go on.'),
      answers('claude', 'two'),
      told('ended', 'It is over.'),
    ])
    expect(found).toEqual([
      'Session 1: ',
      'you: Transcript.',
      'gpt: one',
      '→ claude: Go on.',
      'claude: two',
      '(It is over.)',
    ])
  })

  it('shows a handoff once, even if its call is repeated', () => {
    const found = words([
      ...[goal('Transcript.'), asks('gpt', 'Go on.')],
      ...[told('warning', 'gpt failed'), asks('gpt', 'Go on.', 'again')],
    ])
    expect(found).toEqual(['Session 1: ', 'you: Transcript.', '→ gpt: Go on.', '(gpt failed)'])
  })

  it('has a header for each session, with its first notice', () => {
    const second = (more: Partial<RoomEvent>) => event({ session_id: 'two', ...more })
    const found = words([
      ...[goal('One.'), told('notice', 'Single: gpt is asked.'), told('notice', 'Later.')],
      told('ended', 'It is over.'),
      second({ type: 'human_message', sender: 'you', target: 'router', text: 'Two.' }),
      second({ kind: 'notice', text: 'Autopilot: gpt, claude.' }),
    ])
    expect(found).toEqual([
      ...['Session 1: Single: gpt is asked.', 'you: One.', '(Later.)', '(It is over.)'],
      ...['Session 2: Autopilot: gpt, claude.', 'you: Two.'],
    ])
  })

  it('is the same for any batches of events', () => {
    const events = [
      goal('Transcript.'),
      asks('gpt', 'x'),
      answers('gpt', 'one'),
      told('suggestion'),
    ]
    const atOnce = withEvents(EMPTY_TRANSCRIPT, events)
    const oneByOne = events.reduce(
      (transcript, each) => withEvents(transcript, [each]),
      EMPTY_TRANSCRIPT,
    )
    expect(oneByOne).toEqual(atOnce)
  })
})

describe('a call', () => {
  it('is open until it is answered, fails, or the session ends', () => {
    const begun = withEvents(EMPTY_TRANSCRIPT, [goal('Transcript.'), asks('gpt', 'Transcript.')])
    expect(begun.call).toEqual({ id: 'call-gpt', agent: 'gpt' })
    for (const end of [answers('gpt', 'one'), told('warning'), told('ended')])
      expect(withEvents(begun, [end]).call).toBeUndefined()
    expect(withEvents(begun, [told('reminder')]).call).toBeDefined()
  })
})

describe('a suggestion to finish', () => {
  const suggested = withEvents(EMPTY_TRANSCRIPT, [
    goal('Transcript.'),
    answers('gpt', 'done'),
    told('suggestion', 'End?'),
  ])

  it('stays with its turn until the session ends, and marks its message', () => {
    expect(suggested.suggestion).toMatchObject({ text: 'End?', who: 'gpt', turn: 1 })
    expect(suggested.entries.at(-1)).toMatchObject({ who: 'gpt', suggestsFinish: true })
    const later = withEvents(suggested, [answers('claude', 'more')])
    expect(later.suggestion).toEqual(suggested.suggestion)
    expect(withEvents(later, [told('ended')]).suggestion).toBeUndefined()
  })

  it('is replaced by a later one', () => {
    const later = withEvents(suggested, [
      event({ type: 'agent_response', sender: 'claude', text: 'yes', round: 2 }),
      told('suggestion', 'End?'),
    ])
    expect(later.suggestion).toMatchObject({ who: 'claude', turn: 2 })
  })
})

describe('fetched and streamed events', () => {
  it('are merged, each event once', () => {
    const [one, two, three] = [goal('a'), answers('gpt', 'b'), told('ended')]
    expect(mergedEvents([one!, two!], [two!, three!])).toEqual([one, two, three])
    expect(mergedEvents([], [one!])).toEqual([one])
  })
})
