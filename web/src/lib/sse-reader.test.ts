import { expect, test } from 'vitest'
import { EventReader } from './sse-reader'

const STREAM =
  ': hello\n\nid: 4\nevent: log\ndata: {"a":1}\n\nevent: live\ndata: one\ndata: two\n\n' +
  'id: 5\r\nevent: task\r\ndata: {}\r\n\r\ndata: half'

test('reads messages from chunks of any size', () => {
  const whole = new EventReader().feed(STREAM)

  for (let size = 1; size < STREAM.length; size++) {
    const reader = new EventReader()
    const found = []
    for (let at = 0; at < STREAM.length; at += size) {
      found.push(...reader.feed(STREAM.slice(at, at + size)))
    }
    expect(found).toEqual(whole)
  }
  expect(whole).toEqual([
    { kind: 'log', data: '{"a":1}', id: '4' },
    { kind: 'live', data: 'one\ntwo', id: '4' },
    { kind: 'task', data: '{}', id: '5' },
  ])
})

test('an incomplete message is held back, and the last id is kept', () => {
  const reader = new EventReader()

  expect(reader.feed('id: 9\ndata: x\n')).toEqual([])
  expect(new EventReader(reader.lastId).feed('data: y\n\n')).toEqual([
    { kind: 'message', data: 'y', id: '9' },
  ])
})
