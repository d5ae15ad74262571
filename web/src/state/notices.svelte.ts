// Short notices: results of commands, and errors.

import { Refusal } from '../lib/api'

export interface Notice {
  number: number
  text: string
  hint: string
  isError: boolean
}

const SHOWN_MS = 6_000

class Notices {
  all = $state.raw<Notice[]>([])
  #count = 0

  info(text: string): void {
    this.#add({ number: ++this.#count, text, hint: '', isError: false })
  }

  error(error: unknown): void {
    const hint = error instanceof Refusal ? error.hint : ''
    const text = error instanceof Error ? error.message : String(error)
    this.#add({ number: ++this.#count, text, hint, isError: true })
  }

  close(notice: Notice): void {
    this.all = this.all.filter((each) => each !== notice)
  }

  #add(notice: Notice): void {
    this.all = [...this.all.slice(-3), notice]
    // An error stays until the person closes it.
    if (!notice.isError) setTimeout(() => this.close(notice), SHOWN_MS)
  }
}

export const notices = new Notices()
