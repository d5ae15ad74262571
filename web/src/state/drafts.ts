// Words that were typed and not sent: they outlive a look at another page, and a reload of this one.

import { world } from './world.svelte'

export const drafts = {
  of(what: string): string {
    return sessionStorage.getItem(key(what)) ?? ''
  },

  keep(what: string, text: string): void {
    if (text) sessionStorage.setItem(key(what), text)
    else sessionStorage.removeItem(key(what))
  },
}

/** Another repository may be served at the same address later. */
function key(what: string): string {
  return `allstop.draft.${world.health?.repository ?? ''}/${what}`
}
