// The current route, and the filters that each page had last.

import { href, parse, type Route } from '../lib/routes'

class CurrentRoute {
  current = $state.raw<Route>(parse(location.hash))
  /** The heading of the current page. */
  heading = $state('')
  #queries = $state.raw<Record<string, Route['query']>>({})

  constructor() {
    this.#read()
    addEventListener('hashchange', () => this.#read())
  }

  /** The address of a page with the filter it had last. */
  lastAddress(page: string): string {
    return href(page, '', this.#queries[page])
  }

  #read(): void {
    this.current = parse(location.hash)
    const { page, what, query } = this.current
    if (!what) this.#queries = { ...this.#queries, [page]: query }
  }

  go(page: string, what = '', query: Record<string, string> = {}): void {
    location.hash = href(page, what, query)
  }

  /** Changes the query without a new entry in the browser's history. */
  setQuery(query: Record<string, string>): void {
    history.replaceState(null, '', href(this.current.page, this.current.what, query))
    this.#read()
  }
}

export const route = new CurrentRoute()
