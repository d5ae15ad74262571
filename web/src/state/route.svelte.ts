// Which page is shown.

import { href, parse, type Route } from '../lib/routes'

class Here {
  is = $state.raw<Route>(parse(location.hash))
  /** What the page in sight calls itself. */
  heading = $state('')
  #queries = $state.raw<Record<string, Route['query']>>({})

  constructor() {
    this.#come()
    addEventListener('hashchange', () => this.#come())
  }

  /** The address of a page as it was looked at last, with its filter. */
  back(page: string): string {
    return href(page, '', this.#queries[page])
  }

  #come(): void {
    this.is = parse(location.hash)
    const { page, what, query } = this.is
    if (!what) this.#queries = { ...this.#queries, [page]: query }
  }

  go(page: string, what = '', query: Record<string, string> = {}): void {
    location.hash = href(page, what, query)
  }

  /** Change what the address asks for without a step back in history. */
  ask(query: Record<string, string>): void {
    history.replaceState(null, '', href(this.is.page, this.is.what, query))
    this.#come()
  }
}

export const route = new Here()
