// A run's record, page by page: the whole, or what came after an event.

import { get, part } from './api'
import type { RecordList } from './wire'

const PAGE = 1_000

export async function wholeRecord(run: string, from = 0): Promise<RecordList['events']> {
  const found: RecordList['events'] = []
  for (let after = from, more = true; more;) {
    const page = await get<RecordList>(`/runs/${part(run)}/events?after=${after}&limit=${PAGE}`)
    for (const event of page.events) found.push(event)
    after = page.events.at(-1)?.seq ?? after
    more = page.more
  }
  return found
}
