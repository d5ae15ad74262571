import { expect, test } from 'vitest'
import type { DraftView } from './api-types'
import { answerCommands, draftDetail, openQuestions } from './plan-draft'

const draft = {
  run: 'draft1',
  questions: [
    { text: 'Which?', answer: 'this' },
    { text: 'Where?', answer: '' },
    { text: 'When?', answer: null },
  ],
  assumptions: [],
} as unknown as DraftView

test('only questions without an answer wait', () => {
  expect(openQuestions(draft)).toEqual(['When?'])
})

test('an empty answer leaves the question to the agent', () => {
  expect(answerCommands([' here ', ' ', 'now'])).toEqual([
    { name: 'answer', words: { texts: ['here'] } },
    { name: 'skip', words: {} },
    { name: 'answer', words: { texts: ['now'] } },
  ])
})

test('a draft is told from the details of other kinds', () => {
  expect(draftDetail(draft)).toBe(draft)
  expect(draftDetail(null)).toBeUndefined()
})
