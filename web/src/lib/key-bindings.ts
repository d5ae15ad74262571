// Key bindings: single keys and sequences such as "g b".

export interface Binding {
  /** As shown to people: "g b", "?", "Ctrl+Shift+.". */
  keys: string
  does: string
  run: (event: KeyboardEvent) => void
  /** Works also while the person types in a field. */
  always?: boolean
}

/** How long the second key of a sequence may take. */
export const SEQUENCE_MS = 1_200

export function keyName(event: KeyboardEvent): string {
  const ctrl = event.ctrlKey || event.metaKey
  // With Shift the dot is another character on many keyboards; `code` stays the same.
  const key = event.code === 'Period' && ctrl ? '.' : event.key
  const shift = event.shiftKey && (ctrl || key.length > 1)
  return [ctrl && 'Ctrl', event.altKey && 'Alt', shift && 'Shift', key].filter(Boolean).join('+')
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
}

/** Finds the binding of a pressed key; remembers the first key of a sequence. */
export class Keyboard {
  #first = ''
  #at = 0

  find(name: string, at: number, known: readonly Binding[]): Binding | undefined {
    const pair = at - this.#at < SEQUENCE_MS && this.#first ? `${this.#first} ${name}` : ''
    const found = known.find(({ keys }) => keys === pair) ?? known.find(({ keys }) => keys === name)
    this.#first = !found && known.some(({ keys }) => keys.startsWith(`${name} `)) ? name : ''
    this.#at = at
    return found
  }
}
