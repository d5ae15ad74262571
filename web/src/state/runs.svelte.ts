// The runs: the latest, all that are not over, and what threads of full auto and plans add.

import { get, part } from '../lib/api'
import { autoDetail } from '../lib/auto-switch'
import { planDetail } from '../lib/plan-steps'
import type { AutoView, PlanList, PlanView, RunDetail, RunList, RunView } from '../lib/api-types'
import { KeyedStore } from './keyed-store.svelte'

class Runs {
  #runs = new KeyedStore<RunView>()
  #autos = new KeyedStore<AutoView>()
  #plans = new KeyedStore<PlanView>()

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

  replace(runs: readonly RunView[]): void {
    this.#runs.replace(runs.map((run) => [run.id, run]))
  }

  add(
    runs: ReadonlyMap<string, RunView>,
    autos: ReadonlyMap<string, AutoView>,
    plans: ReadonlyMap<string, PlanView>,
  ): void {
    this.#runs.add(runs)
    this.#autos.add(autos)
    this.#plans.add(plans)
  }

  /** Adds a run that a page fetched by itself. */
  addDetail({ run, detail }: RunDetail): void {
    const auto = autoDetail(detail)
    const plan = planDetail(detail)
    this.add(
      new Map([[run.id, run]]),
      new Map(auto ? [[auto.run, auto]] : []),
      new Map(plan ? [[plan.sessionId, plan]] : []),
    )
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
  runs.add(new Map(), new Map(), new Map(plans.map((plan) => [plan.sessionId, plan])))
}
