// Values by id. Svelte watches the collection as a whole: one counter is cheaper than one signal
// for each of thousands of values.

export class KeyedStore<T> {
  #values = new Map<string, T>()
  #version = $state(0)

  readonly all = $derived.by(() => (this.#version, [...this.#values.values()]))

  get(id: string | null | undefined): T | undefined {
    return (this.#version, id ? this.#values.get(id) : undefined)
  }

  /** Adds values, or replaces those with the same id. */
  add(values: ReadonlyMap<string, T>): void {
    if (!values.size) return
    for (const [id, value] of values) this.#values.set(id, value)
    this.#version++
  }

  /** Drops all values and takes these. */
  replace(values: Iterable<readonly [string, T]>): void {
    this.#values = new Map(values)
    this.#version++
  }
}
