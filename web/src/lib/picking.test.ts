import { expect, test } from 'vitest'
import { roles, type Stand } from './picking'

const hidden: Stand = { isVisible: false, canSound: false }

test('of ten tabs exactly one tells', () => {
  const tabs = new Map(Array.from({ length: 10 }, (_, index) => [index, hidden]))

  const telling = [...roles(tabs)].filter(([, { tells }]) => tells)

  expect(telling).toEqual([[9, { tells: true, isWatched: false }]])
})

test('who can be heard tells, also while another one is in sight', () => {
  const tabs = new Map([
    ['heard', { isVisible: false, canSound: true }],
    ['seen', { isVisible: true, canSound: false }],
    ['last', hidden],
  ])

  expect(roles(tabs).get('heard')).toEqual({ tells: true, isWatched: true })
  expect(roles(tabs).get('seen')!.tells).toBe(false)
})

test('where nobody is there nobody tells', () => {
  expect(roles(new Map()).size).toBe(0)
})
