// Commands to runs, with a notice that reports each result.

import { command, post } from '../lib/api'
import { notices } from './notices.svelte'

interface Result {
  note?: string
  driven?: boolean
}

/** Sends a command to a run. Returns whether the server accepted it. */
export function sendCommand(
  run: string,
  name: string,
  words: object,
  report: string,
): Promise<boolean> {
  return reported(report, () => command<Result>(run, name, words))
}

/** Starts a run. Returns whether the server accepted it. */
export function startRun(
  request: { kind: string; [word: string]: unknown },
  report: string,
): Promise<boolean> {
  return reported(report, () => post<Result>('/runs', request))
}

/** Sends something and shows a notice with the result; a refusal is thrown. */
export async function sendAndReport(report: string, send: () => Promise<Result>): Promise<void> {
  const result = await send()
  notices.info(result.note ? `${report} (${result.note})` : report)
}

/** The same, but a refusal becomes a notice, too. */
export async function reported(report: string, send: () => Promise<Result>): Promise<boolean> {
  try {
    await sendAndReport(report, send)
    return true
  } catch (error) {
    notices.error(error)
    return false
  }
}
