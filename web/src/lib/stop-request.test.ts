import { expect, test } from 'vitest'
import { outcomeOf, stopEverything, stopLabel, type Send, type StopState } from './stop-request'

/** Answers as scripted, the last one for ever. */
async function sendScripted(...answers: Awaited<ReturnType<Send>>[]) {
  const states: StopState[] = []
  const send: Send = () => Promise.resolve(answers.length > 1 ? answers.shift()! : answers[0]!)
  const isStopped = await stopEverything((stop) => states.push(stop), 'url', {}, send)
  return { states, isStopped }
}

test('the request is repeated until it is accepted', async () => {
  const { states, isStopped } = await sendScripted(
    { was: 'lost' },
    { was: 'accepted', stopped: { receipt: { took_ms: 12 } as never } },
  )

  expect(isStopped).toBe(true)
  expect(states).toEqual([
    { is: 'stopping', attempt: 1 },
    { is: 'stopping', attempt: 2 },
    { is: 'stopped', took_ms: 12, unreached: [] },
  ])
})

test('machines that did not answer are named', async () => {
  const stopped = { receipt: { took_ms: 12 } as never, unreached: ['worker a, process 5 on m1'] }
  const { states } = await sendScripted({ was: 'accepted', stopped })

  expect(stopLabel(states.at(-1)!)).toBe(
    'Stopped in 12 ms. No answer from worker a, process 5 on m1: it ends its agents within its lease.',
  )
  expect(stopLabel({ is: 'stopped', took_ms: 12, unreached: [] })).toBe('Stopped in 12 ms')
})

test('a browser that is signed out gets a hint, and the request is not repeated', async () => {
  const { states, isStopped } = await sendScripted({ was: 'refused' })

  expect(isStopped).toBe(false)
  expect(states.at(-1)).toEqual({ is: 'refused' })
  expect(stopLabel({ is: 'refused' })).toContain('allstop stop')
})

test('only a browser that is signed out is refused', () => {
  expect(outcomeOf({ ok: true, status: 200 })).toBe('accepted')
  expect(outcomeOf({ ok: false, status: 401 })).toBe('refused')
  expect([403, 429, 500, 503].map((status) => outcomeOf({ ok: false, status }))).toEqual(
    Array(4).fill('lost'),
  )
})

test('after many attempts the label names the command for the terminal', () => {
  expect(stopLabel({ is: 'stopping', attempt: 1 })).toBe('Stopping…')
  expect(stopLabel({ is: 'stopping', attempt: 37 })).toContain('`allstop stop` in a terminal')
})
