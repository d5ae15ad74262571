// Alert sounds: short tones for each kind of alert, made by the browser.

import type { AlertKind } from './alerts'

/** Pitch in hertz; start and length in seconds. */
type Note = readonly [pitch: number, at: number, lasts: number]

/** The names of document 004. */
type Sound = 'aiComplete' | 'aiError' | 'workflowDone' | 'sectorViolation' | 'notification'

const TONES: Record<Sound, readonly Note[]> = {
  aiComplete: [[784, 0, 0.18]],
  aiError: [
    [392, 0, 0.16],
    [294, 0.18, 0.28],
  ],
  workflowDone: [
    [523, 0, 0.12],
    [659, 0.13, 0.12],
    [784, 0.26, 0.3],
  ],
  sectorViolation: [
    [440, 0, 0.14],
    [349, 0.16, 0.22],
  ],
  notification: [
    [659, 0, 0.12],
    [880, 0.14, 0.22],
  ],
}

export const SOUNDS: Readonly<Record<AlertKind, Sound>> = {
  needs_you: 'notification',
  failed: 'aiError',
  finished: 'aiComplete',
  all_done: 'workflowDone',
  limited: 'sectorViolation',
  paused: 'notification',
  resumed: 'notification',
  step_done: 'aiComplete',
  step_failed: 'aiError',
  plan_done: 'workflowDone',
}

const LOUDNESS = 0.08

export function play(context: AudioContext, kind: AlertKind): void {
  for (const [pitch, at, lasts] of TONES[SOUNDS[kind]]) {
    const begin = context.currentTime + at
    const tone = context.createOscillator()
    const volume = context.createGain()
    tone.type = 'sine'
    tone.frequency.value = pitch
    // It fades in and out, since a tone that is cut off clicks.
    volume.gain.setValueAtTime(0, begin)
    volume.gain.linearRampToValueAtTime(LOUDNESS, begin + 0.015)
    volume.gain.exponentialRampToValueAtTime(0.0001, begin + lasts)
    tone.connect(volume).connect(context.destination)
    tone.start(begin)
    tone.stop(begin + lasts)
  }
}
