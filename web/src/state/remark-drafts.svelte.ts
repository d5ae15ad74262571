// Drafts of remarks on the changes of one task or thread, stored until the server has them.

import { command, get, part } from '../lib/api'
import {
  keyOf,
  readDrafts,
  unsent,
  written,
  type RemarkDraft,
  type DiffPosition,
} from '../lib/remarks'
import type { Review, ReviewList } from '../lib/api-types'
import { notices } from './notices.svelte'
import { connection } from './connection.svelte'

export class RemarkDrafts {
  remarks = $state.raw<readonly RemarkDraft[]>([])
  text = $state('')
  /** The draft whose text box is open. */
  open = $state('')
  reviews = $state.raw<readonly Review[]>([])
  isSending = $state(false)

  readonly #key: string

  constructor(
    /** A task or a thread. */
    readonly name: string,
    /** The API path under which sent remarks are read. */
    readonly path: string,
  ) {
    this.#key = `allstop.remarks.${connection.health?.repository ?? ''}/${name}`
    this.read()
  }

  count = $derived(written({ text: '', remarks: [...this.remarks] }).length)

  on(position: Pick<DiffPosition, 'file' | 'line' | 'removed'>): RemarkDraft | undefined {
    const key = keyOf(position)
    return this.remarks.find((draft) => keyOf(draft) === key)
  }

  /** Opens the text box for a line. */
  begin(position: DiffPosition): void {
    this.close()
    const draft = this.on(position) ?? { ...position, id: newId(), text: '' }
    if (!this.remarks.includes(draft)) this.#store([...this.remarks, draft])
    this.open = draft.id
  }

  write(id: string, text: string): void {
    this.#store(this.remarks.map((draft) => (draft.id === id ? { ...draft, text } : draft)))
  }

  setGeneral(text: string): void {
    this.text = text
    this.#store(this.remarks)
  }

  remove(id: string): void {
    if (this.open === id) this.open = ''
    this.#store(this.remarks.filter((draft) => draft.id !== id))
  }

  close(): void {
    this.open = ''
    this.#store(this.remarks.filter(({ text }) => text.trim()))
  }

  clear(): void {
    this.open = this.text = ''
    this.#store([])
  }

  /** Reads the drafts again: another tab may have changed them. */
  read = (): void => {
    const { text, remarks } = readDrafts(localStorage.getItem(this.#key))
    this.text = text
    this.remarks = remarks
  }

  async load(): Promise<void> {
    const { reviews } = await get<ReviewList>(`${this.path}/${part(this.name)}/remarks`)
    this.reviews = reviews
    const before = { text: this.text, remarks: [...this.remarks] }
    const left = unsent(before, reviews)
    if (left === before) return
    this.text = left.text
    this.#store(left.remarks)
  }

  async send(): Promise<void> {
    this.close()
    this.isSending = true
    try {
      const remarks = this.remarks.map((draft) => ({ ...draft, text: draft.text.trim() }))
      const words = { remarks, text: this.text.trim() }
      const done = await command<{ note?: string }>(this.name, 'comment', words)
      notices.info(`Sent: ${done.note ?? ''}`)
    } catch (error) {
      notices.error(error)
    }
    // Remarks that arrived are known by their id, even if the answer was lost; the rest stay drafts.
    await this.load().catch(() => undefined)
    this.isSending = false
  }

  #store(remarks: readonly RemarkDraft[]): void {
    this.remarks = remarks
    const stored = { text: this.text, remarks }
    if (remarks.length || this.text) localStorage.setItem(this.#key, JSON.stringify(stored))
    else localStorage.removeItem(this.#key)
  }
}

function newId(): string {
  return crypto.getRandomValues(new Uint32Array(3)).join('-')
}
