// A list that drops its oldest entries, so that a page left open overnight stays small.

export class RingBuffer<T> {
  #items: T[] = []
  #dropped = 0

  constructor(readonly capacity: number) {}

  get length(): number {
    return this.#items.length
  }

  /** How many entries were dropped from the front so far. */
  get dropped(): number {
    return this.#dropped
  }

  push(...items: T[]): void {
    for (const item of items) this.#items.push(item)
    // Cutting once a quarter too many have come costs less than cutting at each push.
    if (this.#items.length > this.capacity * 1.25) {
      const over = this.#items.length - this.capacity
      this.#items.splice(0, over)
      this.#dropped += over
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
