// The keys that mean something now: the shell's own, and those of the page in sight.

import { isTyping, Keyboard, named, type Binding } from '../lib/keys'

class Keys {
  #groups = $state.raw<{ title: string; bindings: readonly Binding[] }[]>([])
  #keyboard = new Keyboard()

  /** For the list that `?` shows. */
  groups = $derived(this.#groups)

  /** Bind keys until the function that comes back is called. */
  bind(title: string, bindings: readonly Binding[]): () => void {
    const group = { title, bindings }
    this.#groups = [...this.#groups, group]
    return () => (this.#groups = this.#groups.filter((each) => each !== group))
  }

  heard = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing) return
    const typing = isTyping(event.target) || document.querySelector('dialog[open]') !== null
    const known = this.#groups
      .toReversed()
      .flatMap(({ bindings }) => bindings)
      .filter((binding) => binding.always || !typing)
    const found = this.#keyboard.heard(named(event), event.timeStamp, known)
    if (!found) return
    event.preventDefault()
    found.run(event)
  }
}

export const keys = new Keys()
