import { expect, test } from 'vitest'
import { tabRoles, type TabState } from './tab-roles'

const hidden: TabState = { isVisible: false, canSound: false }

test('exactly one of ten tabs is the speaker', () => {
  const tabs = new Map(Array.from({ length: 10 }, (_, index) => [index, hidden]))

  const speakers = [...tabRoles(tabs)].filter(([, { isSpeaker }]) => isSpeaker)

  expect(speakers).toEqual([[9, { isSpeaker: true, isWatched: false }]])
})

test('a tab that can make sounds is preferred to a visible one', () => {
  const tabs = new Map([
    ['heard', { isVisible: false, canSound: true }],
    ['seen', { isVisible: true, canSound: false }],
    ['last', hidden],
  ])

  expect(tabRoles(tabs).get('heard')).toEqual({ isSpeaker: true, isWatched: true })
  expect(tabRoles(tabs).get('seen')!.isSpeaker).toBe(false)
})

test('without tabs there is no speaker', () => {
  expect(tabRoles(new Map()).size).toBe(0)
})
