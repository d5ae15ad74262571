import { expect, test } from 'vitest'
import { play, SOUNDS } from './alert-sounds'

test('p11 each row of document 004 has its sound by name', () => {
  const { step_done, step_failed, plan_done, limited, paused, resumed } = SOUNDS
  expect([step_done, step_failed, plan_done, limited, paused, resumed]).toEqual([
    'aiComplete',
    'aiError',
    'workflowDone',
    'sectorViolation',
    'notification',
    'notification',
  ])
})

test('a sound is played as its tones', () => {
  const pitches: number[] = []
  const gain = {
    setValueAtTime() {},
    linearRampToValueAtTime() {},
    exponentialRampToValueAtTime() {},
  }
  const context = {
    currentTime: 0,
    createOscillator: () => ({
      frequency: {
        set value(pitch: number) {
          pitches.push(pitch)
        },
      },
      connect: <T>(to: T) => to,
      start() {},
      stop() {},
    }),
    createGain: () => ({ gain, connect() {} }),
  }
  play(context as unknown as AudioContext, 'plan_done')
  expect(pitches).toEqual([523, 659, 784])
})
