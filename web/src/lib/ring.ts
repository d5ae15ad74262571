// A list that forgets its oldest entries, so that a page left open overnight stays small.

export class Ring<T> {
  #items: T[] = []
  #forgotten = 0

  constructor(readonly capacity: number) {}

  get length(): number {
    return this.#items.length
  }

  /** How many have been dropped from the front since the beginning. */
  get forgotten(): number {
    return this.#forgotten
  }

  push(...items: T[]): void {
    for (const item of items) this.#items.push(item)
    // Cutting in one go once a quarter too many have come costs less than cutting each time.
    if (this.#items.length > this.capacity * 1.25) {
      const over = this.#items.length - this.capacity
      this.#items.splice(0, over)
      this.#forgotten += over
    }
  }

  slice(from: number, to: number): T[] {
    return this.#items.slice(from, to)
  }

  last(): T | undefined {
    return this.#items.at(-1)
  }

  all(): readonly T[] {
    return this.#items
  }
}
