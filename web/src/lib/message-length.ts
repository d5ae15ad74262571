// The length limit of messages, checked before they are sent.

import { Refusal } from './api'

/** The server's limit for one message. */
export const MOST_CHARACTERS = 100_000

/** Throws if a message is longer than the server accepts. */
export function checkLength(text: string): void {
  const length = [...text].length
  if (length <= MOST_CHARACTERS) return
  const [most, actual] = [MOST_CHARACTERS, length].map((count) => count.toLocaleString('en'))
  throw new Refusal(
    `Messages can have up to ${most} characters; yours has ${actual}.`,
    '',
    'too_long',
    0,
  )
}
