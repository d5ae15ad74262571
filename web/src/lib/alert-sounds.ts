// Alert sounds: short tones for each kind of alert, made by the browser.

import type { AlertKind } from './alerts'

/** Pitch in hertz; start and length in seconds. */
type Note = readonly [pitch: number, at: number, lasts: number]

const TONES: Record<AlertKind, readonly Note[]> = {
  needs_you: [
    [659, 0, 0.12],
    [880, 0.14, 0.22],
  ],
  failed: [
    [392, 0, 0.16],
    [294, 0.18, 0.28],
  ],
  finished: [[784, 0, 0.18]],
  all_done: [
    [523, 0, 0.12],
    [659, 0.13, 0.12],
    [784, 0.26, 0.3],
  ],
  limited: [
    [440, 0, 0.14],
    [349, 0.16, 0.22],
  ],
  paused: [[440, 0, 0.14]],
  resumed: [[494, 0, 0.14]],
}

const LOUDNESS = 0.08

export function play(context: AudioContext, kind: AlertKind): void {
  for (const [pitch, at, lasts] of TONES[kind]) {
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
