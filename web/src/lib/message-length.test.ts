import { expect, test } from 'vitest'
import { checkLength } from './message-length'

test('a message that is too long is refused with both numbers', () => {
  expect(() => checkLength('a'.repeat(200_000))).toThrow(
    'Messages can have up to 100,000 characters; yours has 200,000.',
  )
  expect(() => checkLength('a'.repeat(100_000))).not.toThrow()
})
