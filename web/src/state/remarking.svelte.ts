// Remarks on the work of one task or thread: those being written, kept until they have arrived.

import { command, get, part } from '../lib/api'
import { keyOf, readDrafts, unsent, written, type Draft, type Spot } from '../lib/remarks'
import type { Review, ReviewList } from '../lib/wire'
import { notices } from './notices.svelte'
import { world } from './world.svelte'

export class Remarking {
  remarks = $state.raw<readonly Draft[]>([])
  text = $state('')
  /** The one that is being written. */
  open = $state('')
  reviews = $state.raw<readonly Review[]>([])
  isSending = $state(false)

  readonly #key: string

  constructor(
    /** A task, or a thread. */
    readonly name: string,
    /** Where what was sent is read. */
    readonly place: string,
  ) {
    this.#key = `allstop.remarks.${world.health?.repository ?? ''}/${name}`
    this.recall()
  }

  count = $derived(written({ text: '', remarks: [...this.remarks] }).length)

  on(spot: Pick<Spot, 'file' | 'line' | 'removed'>): Draft | undefined {
    const key = keyOf(spot)
    return this.remarks.find((draft) => keyOf(draft) === key)
  }

  /** Write something about a line, or go on with it. */
  begin(spot: Spot): void {
    this.close()
    const draft = this.on(spot) ?? { ...spot, id: madeUp(), text: '' }
    if (!this.remarks.includes(draft)) this.#keep([...this.remarks, draft])
    this.open = draft.id
  }

  write(id: string, text: string): void {
    this.#keep(this.remarks.map((draft) => (draft.id === id ? { ...draft, text } : draft)))
  }

  say(text: string): void {
    this.text = text
    this.#keep(this.remarks)
  }

  drop(id: string): void {
    if (this.open === id) this.open = ''
    this.#keep(this.remarks.filter((draft) => draft.id !== id))
  }

  close(): void {
    this.open = ''
    this.#keep(this.remarks.filter(({ text }) => text.trim()))
  }

  clear(): void {
    this.open = this.text = ''
    this.#keep([])
  }

  /** What another tab has kept meanwhile. */
  recall = (): void => {
    const { text, remarks } = readDrafts(localStorage.getItem(this.#key))
    this.text = text
    this.remarks = remarks
  }

  async load(): Promise<void> {
    const { reviews } = await get<ReviewList>(`${this.place}/${part(this.name)}/remarks`)
    this.reviews = reviews
    const before = { text: this.text, remarks: [...this.remarks] }
    const left = unsent(before, reviews)
    if (left === before) return
    this.text = left.text
    this.#keep(left.remarks)
  }

  async send(): Promise<void> {
    this.close()
    this.isSending = true
    try {
      const remarks = this.remarks.map((draft) => ({ ...draft, text: draft.text.trim() }))
      const words = { remarks, text: this.text.trim() }
      const done = await command<{ note?: string }>(this.name, 'comment', words)
      notices.tell(`Sent: ${done.note ?? ''}`)
    } catch (error) {
      notices.failed(error)
    }
    // What arrived is known by its id, also when the answer was lost; the rest stays a draft.
    await this.load().catch(() => undefined)
    this.isSending = false
  }

  #keep(remarks: readonly Draft[]): void {
    this.remarks = remarks
    const kept = { text: this.text, remarks }
    if (remarks.length || this.text) localStorage.setItem(this.#key, JSON.stringify(kept))
    else localStorage.removeItem(this.#key)
  }
}

function madeUp(): string {
  return crypto.getRandomValues(new Uint32Array(3)).join('-')
}
