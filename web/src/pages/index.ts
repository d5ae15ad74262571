// Every page of the navigation and the pages reached from others. Each is loaded on its first
// visit. Pages for kinds of runs stand in `kinds`.

import type { Component } from 'svelte'
import { KINDS } from '../kinds'
import type { IconName } from '../parts/Icon.svelte'

export interface PageEntry {
  name: string
  title: string
  /** `g` and then this key opens the page. A page without one is reached from others. */
  letter?: string
  /** A page with an icon is in the navigation. */
  icon?: IconName
  load: () => Promise<{ default: Component }>
}

const [boardPage, ...kindPages] = KINDS.flatMap(({ page }) => page ?? [])

export const PAGES: readonly PageEntry[] = [
  {
    name: 'home',
    title: 'Home',
    letter: 'h',
    icon: 'home',
    load: () => import('./home/Home.svelte'),
  },
  boardPage!,
  {
    name: 'inbox',
    title: 'Inbox',
    letter: 'i',
    icon: 'inbox',
    load: () => import('./inbox/Inbox.svelte'),
  },
  {
    name: 'review',
    title: 'Review',
    letter: 'v',
    icon: 'review',
    load: () => import('./review/Review.svelte'),
  },
  {
    name: 'queue',
    title: 'Merge queue',
    letter: 'q',
    load: () => import('./queue/MergeQueue.svelte'),
  },
  {
    name: 'sprints',
    title: 'Sprints',
    letter: 'p',
    icon: 'sprints',
    load: () => import('./sprints/Sprints.svelte'),
  },
  ...kindPages,
  {
    name: 'machines',
    title: 'Machines',
    letter: 'm',
    icon: 'machines',
    load: () => import('./machines/Machines.svelte'),
  },
  {
    name: 'history',
    title: 'History',
    letter: 'y',
    icon: 'history',
    load: () => import('./history/History.svelte'),
  },
  {
    name: 'settings',
    title: 'Settings',
    letter: 's',
    icon: 'settings',
    load: () => import('./settings/Settings.svelte'),
  },
  { name: 'start', title: 'Start', load: () => import('./start/Start.svelte') },
  {
    name: 'stats',
    title: 'Statistics',
    letter: 't',
    load: () => import('./stats/Stats.svelte'),
  },
  { name: 'usage', title: 'Usage', letter: 'u', load: () => import('./usage/Usage.svelte') },
]

export function pageOf(name: string): PageEntry | undefined {
  return PAGES.find((page) => page.name === name)
}
