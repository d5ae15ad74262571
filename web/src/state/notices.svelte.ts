// Short notices: what was done, and what was refused and why.

import { Refusal } from '../lib/api'

export interface Notice {
  number: number
  text: string
  hint: string
  isTrouble: boolean
}

const SHOWN_MS = 6_000

class Notices {
  all = $state.raw<Notice[]>([])
  #count = 0

  tell(text: string): void {
    this.#add({ number: ++this.#count, text, hint: '', isTrouble: false })
  }

  failed(error: unknown): void {
    const hint = error instanceof Refusal ? error.hint : ''
    const text = error instanceof Error ? error.message : String(error)
    this.#add({ number: ++this.#count, text, hint, isTrouble: true })
  }

  drop(notice: Notice): void {
    this.all = this.all.filter((each) => each !== notice)
  }

  #add(notice: Notice): void {
    this.all = [...this.all.slice(-3), notice]
    // Trouble stays until it is put away.
    if (!notice.isTrouble) setTimeout(() => this.drop(notice), SHOWN_MS)
  }
}

export const notices = new Notices()
