// Questions and commands to the server. A refusal carries what the server says about it.

export class Refusal extends Error {
  constructor(
    message: string,
    readonly hint: string,
    readonly code: string,
    readonly status: number,
  ) {
    super(message)
  }
}

const BASE = './api/v1'

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, { signal: signal ?? null })
}

export function post<T>(path: string, body: object = {}): Promise<T> {
  return ask<T>(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** Tell a run something, by the name the command line has for it. */
export function command<T = unknown>(run: string, name: string, words: object = {}): Promise<T> {
  return post<T>(`/runs/${part(run)}/commands`, { command: name, ...words })
}

/** A name as a part of an address. */
export function part(name: string): string {
  return encodeURIComponent(name)
}

async function ask<T>(path: string, request: RequestInit): Promise<T> {
  let answer: Response
  try {
    answer = await fetch(BASE + path, { cache: 'no-store', ...request })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Refusal('The server is not reachable.', 'Is `allstop up` still running?', 'away', 0)
  }
  if (answer.ok) return (answer.status === 204 ? undefined : await answer.json()) as T
  throw await refusal(answer)
}

async function refusal(answer: Response): Promise<Refusal> {
  const said = (await answer.json().catch(() => ({}))) as {
    error?: { message?: string; hint?: string; code?: string }
  }
  const { message, hint, code } = said.error ?? {}
  return new Refusal(
    message || `The server answers ${answer.status}.`,
    hint ?? '',
    code ?? '',
    answer.status,
  )
}
