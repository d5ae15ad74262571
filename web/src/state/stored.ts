// Choices that this browser remembers for the repository.

import { connection } from './connection.svelte'

export const stored = {
  get<T>(name: string): T | undefined {
    try {
      return JSON.parse(localStorage.getItem(key(name)) ?? 'null') ?? undefined
    } catch {
      return undefined
    }
  },

  set(name: string, value: unknown): void {
    try {
      localStorage.setItem(key(name), JSON.stringify(value))
    } catch {
      // A full or forbidden storage: the choice lasts as long as the page.
    }
  },
}

/** With the repository: another one may be served at the same address later. */
function key(name: string): string {
  return `allstop.${name}.${connection.health?.repository ?? ''}`
}
