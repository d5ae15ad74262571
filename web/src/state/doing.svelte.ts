// Doing something with a task: asks for what is missing, sends it, and says what came of it.

import { post, command, part } from '../lib/api'
import { wordsOf, type Deed } from '../lib/deeds'
import type { TaskView } from '../lib/wire'
import { notices } from './notices.svelte'

interface Done {
  note?: string
  driven?: boolean
}

class Doing {
  /** What is being asked of the person, if anything. */
  asks = $state.raw<{ deed: Deed; task: TaskView }>()
  /** A new task is being written, or this one changed. */
  edits = $state.raw<{ task: TaskView | undefined }>()

  begin = (deed: Deed, task: TaskView) => {
    if (deed.name === 'edit_task') this.edits = { task }
    else if (deed.text || deed.warning) this.asks = { deed, task }
    else void this.send(deed, task, '')
  }

  send = (deed: Deed, task: TaskView, text: string) =>
    said(`${deed.label}: ${task.title}`, sending(deed, task, text))

  /** The same from a box, which stays open and says so where it is refused. */
  sendAsked = async ({ deed, task }: { deed: Deed; task: TaskView }, text: string) => {
    const asked = this.asks
    await reported(`${deed.label}: ${task.title}`, sending(deed, task, text))
    if (this.asks === asked) this.asks = undefined
  }
}

function sending(deed: Deed, task: TaskView, text: string) {
  return () => post<Done>(`/runs/${part(task.id)}/commands`, wordsOf(deed, text))
}

/** Tell a run something and report it. */
export function tell(run: string, name: string, words: object, report: string): Promise<boolean> {
  return said(report, () => command<Done>(run, name, words))
}

/** Begin something new and report it. */
export function open(
  order: { kind: string; [word: string]: unknown },
  report: string,
): Promise<boolean> {
  return said(report, () => post<Done>('/runs', order))
}

/** Raises what it was refused for. */
export async function reported(report: string, send: () => Promise<Done>): Promise<void> {
  const done = await send()
  notices.tell(done.note ? `${report} (${done.note})` : report)
}

async function said(report: string, send: () => Promise<Done>): Promise<boolean> {
  try {
    await reported(report, send)
    return true
  } catch (error) {
    notices.failed(error)
    return false
  }
}

export const doing = new Doing()
