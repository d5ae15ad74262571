// Drafts: text that was typed and not sent survives a change of page and a reload.

import { connection } from './connection.svelte'

export const drafts = {
  of(name: string): string {
    return sessionStorage.getItem(key(name)) ?? ''
  },

  store(name: string, text: string): void {
    if (text) sessionStorage.setItem(key(name), text)
    else sessionStorage.removeItem(key(name))
  },
}

/** With the repository: another one may be served at the same address later. */
function key(name: string): string {
  return `allstop.draft.${connection.health?.repository ?? ''}/${name}`
}
