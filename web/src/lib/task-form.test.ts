import { expect, test } from 'vitest'
import { changes, fieldsOf, valuesIn } from './task-form'
import type { TaskView } from './api-types'

const task = {
  title: 'Write it',
  body: 'As\r\nsaid',
  tags: ['two words', 'ui'],
  needs: ['t1', 't2'],
  priority: 12_000_000_000,
} as unknown as TaskView

test('an untouched form has no changes', () => {
  const before = fieldsOf(task)

  expect(changes(before, { ...before })).toEqual({})
})

test('only changed values are sent', () => {
  const before = fieldsOf(task)

  expect(changes(before, { ...before, title: ' Write it well ' })).toEqual({
    title: 'Write it well',
  })
  expect(changes(before, { ...before, needs: '', priority: '3' })).toEqual({
    needs: [],
    priority: 3,
  })
})

test('a new task has the values of the form', () => {
  const fields = { ...fieldsOf(undefined), title: 'New', tags: 'a, b c' }

  expect(valuesIn(fields)).toEqual({
    title: 'New',
    body: '',
    tags: ['a', 'b', 'c'],
    needs: [],
    priority: 0,
    agent: null,
    operation: '',
    may_change: [],
  })
})

test('the tests that may change are one in each line, whatever they contain', () => {
  const before = fieldsOf({ ...task, may_change: ['behaviour of a, b'] })

  expect(before.may_change).toBe('behaviour of a, b')
  expect(changes(before, { ...before, may_change: ' t.py \n\nbehaviour of a\n' })).toEqual({
    may_change: ['t.py', 'behaviour of a'],
  })
})
