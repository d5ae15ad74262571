import { expect, test } from 'vitest'
import { outcomeOf, stopEverything, stopWords, type Send, type Stop } from './allstop'

/** Answers as scripted, the last one for ever. */
async function told(...answers: Awaited<ReturnType<Send>>[]) {
  const heard: Stop[] = []
  const send: Send = () => Promise.resolve(answers.length > 1 ? answers.shift()! : answers[0]!)
  const isStopped = await stopEverything((stop) => heard.push(stop), 'url', {}, send)
  return { heard, isStopped }
}

test('it is said again until it is heard', async () => {
  const { heard, isStopped } = await told(
    { was: 'lost' },
    { was: 'heard', stopped: { receipt: { took_ms: 12 } as never } },
  )

  expect(isStopped).toBe(true)
  expect(heard).toEqual([
    { is: 'stopping', tries: 1 },
    { is: 'stopping', tries: 2 },
    { is: 'stopped', took_ms: 12 },
  ])
})

test('a browser that is signed out is told so, with what helps, and nothing goes on for ever', async () => {
  const { heard, isStopped } = await told({ was: 'refused' })

  expect(isStopped).toBe(false)
  expect(heard.at(-1)).toEqual({ is: 'refused' })
  expect(stopWords({ is: 'refused' })).toContain('allstop stop')
})

test('only who is signed out is not heard again', () => {
  expect(outcomeOf({ ok: true, status: 200 })).toBe('heard')
  expect(outcomeOf({ ok: false, status: 401 })).toBe('refused')
  expect([403, 429, 500, 503].map((status) => outcomeOf({ ok: false, status }))).toEqual(
    Array(4).fill('lost'),
  )
})

test('whoever is not heard is told of the way that needs no server', () => {
  expect(stopWords({ is: 'stopping', tries: 1 })).toBe('stopping…')
  expect(stopWords({ is: 'stopping', tries: 37 })).toContain('`allstop stop` in a terminal')
})
