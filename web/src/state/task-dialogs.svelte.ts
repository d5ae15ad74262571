// The dialogs for actions on tasks: an action that needs no dialog is sent at once.

import { commandFor, type Action } from '../lib/actions'
import { part, post } from '../lib/api'
import type { TaskView } from '../lib/api-types'
import { reported, sendAndReport } from './commands'

interface OpenAction {
  action: Action
  task: TaskView
}

class TaskDialogs {
  /** The action whose dialog is open: it needs text or a confirmation. */
  action = $state.raw<OpenAction>()
  /** The task form that is open; without a task it is for a new one. */
  form = $state.raw<{ task: TaskView | undefined }>()

  begin = (action: Action, task: TaskView) => {
    if (action.name === 'edit_task') this.form = { task }
    else if (action.text || action.warning) this.action = { action, task }
    else void reported(label(action, task), request(action, task, ''))
  }

  /** Opens the form for a new task. */
  openNew = () => {
    this.form = { task: undefined }
  }

  /** Sends the action of the open dialog. The dialog shows a refusal and stays open. */
  sendAction = async ({ action, task }: OpenAction, text: string) => {
    const sent = this.action
    await sendAndReport(label(action, task), request(action, task, text))
    if (this.action === sent) this.action = undefined
  }
}

function label(action: Action, task: TaskView): string {
  return `${action.label}: ${task.title}`
}

function request(action: Action, task: TaskView, text: string) {
  return () => post<{ note?: string }>(`/runs/${part(task.id)}/commands`, commandFor(action, text))
}

export const taskDialogs = new TaskDialogs()
