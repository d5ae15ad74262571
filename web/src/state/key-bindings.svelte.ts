// The key bindings in force: those of the shell and those of the current page.

import { isTyping, Keyboard, keyName, type Binding } from '../lib/key-bindings'

class KeyBindings {
  #groups = $state.raw<{ title: string; bindings: readonly Binding[] }[]>([])
  #keyboard = new Keyboard()

  /** Shown in the list that `?` opens. */
  groups = $derived(this.#groups)

  /** Binds keys until the returned function is called. */
  bind(title: string, bindings: readonly Binding[]): () => void {
    const group = { title, bindings }
    this.#groups = [...this.#groups, group]
    return () => (this.#groups = this.#groups.filter((each) => each !== group))
  }

  handle = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing) return
    const typing = isTyping(event.target) || document.querySelector('dialog[open]') !== null
    const known = this.#groups
      .toReversed()
      .flatMap(({ bindings }) => bindings)
      .filter((binding) => binding.always || !typing)
    const found = this.#keyboard.find(keyName(event), event.timeStamp, known)
    if (!found) return
    event.preventDefault()
    found.run(event)
  }
}

export const keys = new KeyBindings()
