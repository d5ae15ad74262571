// A reader for server-sent events: turns chunks of text into messages.

export interface Message {
  kind: string
  data: string
  id: string
}

/** Feed it chunks; it returns the messages that are complete, and remembers the last id. */
export class EventReader {
  lastId: string
  #rest = ''
  #kind = ''
  #data: string[] = []

  constructor(lastId = '') {
    this.lastId = lastId
  }

  feed(chunk: string): Message[] {
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() ?? ''
    const found: Message[] = []
    for (const line of lines) {
      const message = this.#line(line)
      if (message) found.push(message)
    }
    return found
  }

  #line(line: string): Message | undefined {
    if (line === '') return this.#complete()
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'event') this.#kind = value
    else if (field === 'data') this.#data.push(value)
    else if (field === 'id' && !value.includes('\0')) this.lastId = value
    return undefined
  }

  #complete(): Message | undefined {
    const data = this.#data
    const kind = this.#kind || 'message'
    this.#data = []
    this.#kind = ''
    return data.length ? { kind, data: data.join('\n'), id: this.lastId } : undefined
  }
}
