// The runs: the latest, all that are not over, and what threads of full auto and plans add.

import { get, part } from '../lib/api'
import { autoDetail } from '../lib/auto-switch'
import { draftDetail } from '../lib/plan-draft'
import { planDetail } from '../lib/plan-steps'
import type { AutoView, DraftView, PlanList, PlanView } from '../lib/api-types'
import type { RunDetail, RunList, RunView } from '../lib/api-types'
import { KeyedStore } from './keyed-store.svelte'

/** What runs of some kinds add, by run. */
export interface Details {
  autos: ReadonlyMap<string, AutoView>
  plans: ReadonlyMap<string, PlanView>
  drafts: ReadonlyMap<string, DraftView>
}

class Runs {
  #runs = new KeyedStore<RunView>()
  #autos = new KeyedStore<AutoView>()
  #plans = new KeyedStore<PlanView>()
  #drafts = new KeyedStore<DraftView>()

  get all(): RunView[] {
    return this.#runs.all
  }

  get(id: string | null | undefined): RunView | undefined {
    return this.#runs.get(id)
  }

  /** What full auto adds to a run of its own. */
  auto(id: string): AutoView | undefined {
    return this.#autos.get(id)
  }

  get plans(): PlanView[] {
    return this.#plans.all
  }

  /** The state of a plan. */
  plan(id: string): PlanView | undefined {
    return this.#plans.get(id)
  }

  /** The state of a plan that an agent writes. */
  draft(id: string): DraftView | undefined {
    return this.#drafts.get(id)
  }

  replace(runs: readonly RunView[]): void {
    this.#runs.replace(runs.map((run) => [run.id, run]))
  }

  add(runs: ReadonlyMap<string, RunView>, details: Partial<Details>): void {
    this.#runs.add(runs)
    this.#autos.add(details.autos ?? new Map())
    this.#plans.add(details.plans ?? new Map())
    this.#drafts.add(details.drafts ?? new Map())
  }

  /** Adds a run that a page fetched by itself. */
  addDetail({ run, detail }: RunDetail): void {
    const auto = autoDetail(detail)
    const plan = planDetail(detail)
    const draft = draftDetail(detail)
    this.add(new Map([[run.id, run]]), {
      autos: new Map(auto ? [[auto.run, auto]] : []),
      plans: new Map(plan ? [[plan.sessionId, plan]] : []),
      drafts: new Map(draft ? [[draft.run, draft]] : []),
    })
  }
}

/** Fetches the latest runs and all that are not over. */
export async function fetchRuns(): Promise<RunView[]> {
  const [latest, open] = await Promise.all([get<RunList>('/runs'), openRuns()])
  return [...open, ...latest.runs]
}

async function openRuns(): Promise<RunView[]> {
  const found: RunView[] = []
  for (let before = '', more = true; more;) {
    const query = before && `&before=${part(before)}`
    const page = await get<RunList>(`/runs?open=true&limit=1000${query}`)
    found.push(...page.runs)
    before = page.runs.at(-1)?.id ?? ''
    more = page.more
  }
  return found
}

export const runs = new Runs()

/** Fetches the state of all plans; later states come with the stream. */
export async function loadPlans(): Promise<void> {
  const { plans } = await get<PlanList>('/plans')
  runs.add(new Map(), { plans: new Map(plans.map((plan) => [plan.sessionId, plan])) })
}
