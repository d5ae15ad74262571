// Requests to the server. A refused one throws the server's message, hint and code.

import { keepStopKey } from './stop-request'

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
  return request<T>(path, { signal: signal ?? null })
}

export function post<T>(path: string, body: object = {}): Promise<T> {
  return request<T>(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** Sends a command to a run, by the name it has on the command line. */
export function command<T = unknown>(run: string, name: string, words: object = {}): Promise<T> {
  return post<T>(`/runs/${part(run)}/commands`, { command: name, ...words })
}

/** A name as one part of a path. */
export function part(name: string): string {
  return encodeURIComponent(name)
}

async function request<T>(path: string, init: RequestInit): Promise<T> {
  let answer: Response
  try {
    answer = await fetch(BASE + path, { cache: 'no-store', ...init })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Refusal('The server can’t be reached.', 'Is `allstop up` still running?', 'away', 0)
  }
  keepStopKey(answer)
  if (answer.ok) return (answer.status === 204 ? undefined : await answer.json()) as T
  throw await refusal(answer)
}

async function refusal(answer: Response): Promise<Refusal> {
  const body = (await answer.json().catch(() => ({}))) as {
    error?: { message?: string; hint?: string; code?: string }
  }
  const { message, hint, code } = body.error ?? {}
  return new Refusal(
    message || `The server answered with status ${answer.status}.`,
    hint ?? '',
    code ?? '',
    answer.status,
  )
}
