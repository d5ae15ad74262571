// The events of a run, fetched page by page.

import { get, part } from './api'
import type { RecordList } from './api-types'

const PAGE = 1_000

/** All events of a run, or those after an event. */
export async function fetchEvents(run: string, from = 0): Promise<RecordList['events']> {
  const found: RecordList['events'] = []
  for (let after = from, more = true; more;) {
    const page = await get<RecordList>(`/runs/${part(run)}/events?after=${after}&limit=${PAGE}`)
    for (const event of page.events) found.push(event)
    after = page.events.at(-1)?.seq ?? after
    more = page.more
  }
  return found
}
