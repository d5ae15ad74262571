import { expect, test } from 'vitest'
import { changes, fieldsOf, wordsIn } from './editing'
import type { TaskView } from './wire'

const task = {
  title: 'Write it',
  body: 'As\r\nsaid',
  tags: ['two words', 'ui'],
  needs: ['t1', 't2'],
  priority: 12_000_000_000,
} as unknown as TaskView

test('a task that was only looked at has not changed, whatever it holds', () => {
  const before = fieldsOf(task)

  expect(changes(before, { ...before })).toEqual({})
})

test('only what became another is sent', () => {
  const before = fieldsOf(task)

  expect(changes(before, { ...before, title: ' Write it well ' })).toEqual({
    title: 'Write it well',
  })
  expect(changes(before, { ...before, needs: '', priority: '3' })).toEqual({
    needs: [],
    priority: 3,
  })
})

test('a new task is what stands in the form', () => {
  const fields = { ...fieldsOf(undefined), title: 'New', tags: 'a, b c' }

  expect(wordsIn(fields)).toEqual({
    title: 'New',
    body: '',
    tags: ['a', 'b', 'c'],
    needs: [],
    priority: 0,
    agent: null,
    operation: '',
  })
})
