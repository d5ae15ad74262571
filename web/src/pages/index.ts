// Every page: a folder here and a line in this table. Each is loaded when it is first looked at.

import type { Component } from 'svelte'
import type { IconName } from '../parts/Icon.svelte'

export interface PageEntry {
  name: string
  title: string
  /** `g` and then this key goes there; a page without one is reached from others. */
  letter?: string
  icon?: IconName
  load: () => Promise<{ default: Component }>
}

export const PAGES: readonly PageEntry[] = [
  {
    name: 'home',
    title: 'Home',
    letter: 'h',
    icon: 'home',
    load: () => import('./home/Home.svelte'),
  },
  {
    name: 'board',
    title: 'Board',
    letter: 'b',
    icon: 'board',
    load: () => import('./board/Board.svelte'),
  },
  {
    name: 'inbox',
    title: 'Inbox',
    letter: 'i',
    icon: 'inbox',
    load: () => import('./inbox/Inbox.svelte'),
  },
  {
    name: 'rooms',
    title: 'Rooms',
    letter: 'r',
    icon: 'rooms',
    load: () => import('./rooms/Rooms.svelte'),
  },
  {
    name: 'auto',
    title: 'Full auto',
    letter: 'a',
    icon: 'auto',
    load: () => import('./auto/Auto.svelte'),
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
  { name: 'usage', title: 'Usage', load: () => import('./usage/Usage.svelte') },
  { name: 'task', title: 'Task', load: () => import('./task/Task.svelte') },
]

export function pageOf(name: string): PageEntry | undefined {
  return PAGES.find((page) => page.name === name)
}
