// Routes: the part of the address after `#` names the page and its subject.

export interface Route {
  page: string
  /** The subject of the page: a task, a thread, a run. */
  what: string
  query: Record<string, string>
}

export function parse(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const [page = '', ...rest] = path.split('/')
  return {
    page: page || 'home',
    what: rest.map(decoded).join('/'),
    query: Object.fromEntries(new URLSearchParams(search)),
  }
}

export function href(page: string, what = '', query: Record<string, string> = {}): string {
  const parts = what === '' ? [] : what.split('/').map(encodeURIComponent)
  const filled = Object.entries(query).filter(([, value]) => value !== '')
  const search = filled.length ? `?${new URLSearchParams(filled)}` : ''
  return `#/${[page, ...parts].join('/')}${search}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
