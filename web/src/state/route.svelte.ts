// Which page is shown.

import { href, parse, type Route } from '../lib/routes'

class Here {
  is = $state.raw<Route>(parse(location.hash))

  constructor() {
    addEventListener('hashchange', () => (this.is = parse(location.hash)))
  }

  go(page: string, what = '', query: Record<string, string> = {}): void {
    location.hash = href(page, what, query)
  }

  /** Change what the address asks for without a step back in history. */
  ask(query: Record<string, string>): void {
    history.replaceState(null, '', href(this.is.page, this.is.what, query))
    this.is = parse(location.hash)
  }
}

export const route = new Here()
