// The board: its tasks, its phase and its mode.

import { get } from '../lib/api'
import type { BoardPage, BoardState, TaskView } from '../lib/api-types'
import { KeyedStore } from './keyed-store.svelte'

class Board {
  phase = $state('')
  /** The command that the board accepts now; `''` if there is none. */
  action = $state('')
  mode = $state('')
  #tasks = new KeyedStore<TaskView>()

  get tasks(): TaskView[] {
    return this.#tasks.all
  }

  task(id: string): TaskView | undefined {
    return this.#tasks.get(id)
  }

  replace(board: BoardPage): void {
    this.setState(board)
    this.#tasks.replace(board.tasks.map((task) => [task.id, task]))
  }

  setState({ phase, action, mode }: Pick<BoardState, 'phase' | 'action' | 'mode'>): void {
    this.phase = phase
    this.action = action
    this.mode = mode
  }

  addTasks(tasks: ReadonlyMap<string, TaskView>): void {
    this.#tasks.add(tasks)
  }

  /** Fetches phase and mode. The event stream sends changed tasks by itself. */
  async refresh(): Promise<void> {
    const board = await get<BoardPage>('/board?limit=1').catch(() => undefined)
    if (board) this.setState(board)
  }
}

/** Fetches the board with all its tasks, page by page. */
export async function fetchBoard(): Promise<BoardPage> {
  let board = await get<BoardPage>('/board')
  while (board.more) {
    const next = await get<BoardPage>(`/board?after=${board.tasks.length}`)
    board = { ...next, tasks: [...board.tasks, ...next.tasks] }
  }
  return board
}

export const board = new Board()
