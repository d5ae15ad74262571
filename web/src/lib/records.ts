// A run's record, as lines of a log.

import type { LogLine, RecordList } from './wire'

export function logOf(records: RecordList['events']): LogLine[] {
  return records.flatMap(({ run, seq, at, type, lines }) =>
    lines.map((line) => ({ run, seq, at, type, ...parted(line) })),
  )
}

/** "✓ 3 of 3 passed": the mark is one letter, then a space. */
function parted(line: string): { mark: string; text: string } {
  const [mark = ' '] = line
  return { mark, text: line.slice(mark.length + 1) }
}
