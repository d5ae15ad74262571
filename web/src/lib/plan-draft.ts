// A plan that an agent writes: its state, and the commands that answer its questions.

import type { DraftView, RunDetail } from './api-types'

export function draftDetail(detail: RunDetail['detail']): DraftView | undefined {
  return detail && 'assumptions' in detail ? detail : undefined
}

/** The questions that wait for a person. */
export function openQuestions({ questions }: DraftView): string[] {
  return questions.filter(({ answer }) => answer === null).map(({ text }) => text)
}

export interface AnswerCommand {
  name: 'answer' | 'skip'
  words: { texts?: string[] }
}

/** One command for each question, in order; an empty answer leaves the question to the agent. */
export function answerCommands(answers: readonly string[]): AnswerCommand[] {
  return answers.map((answer) => {
    const text = answer.trim()
    return text ? { name: 'answer', words: { texts: [text] } } : { name: 'skip', words: {} }
  })
}
