// Sounds and notifications of this browser: whether they are on, and whether this tab makes them.

import { get } from '../lib/api'
import type { TabRole } from '../lib/tab-roles'
import { isQuiet } from '../lib/quiet-hours'
import { plain } from '../lib/terminal-text'
import { showsNotification, isUrgent, type Alert } from '../lib/alerts'
import { play } from '../lib/alert-sounds'
import type { SettingList } from '../lib/api-types'
import { connection } from './connection.svelte'
import { notices } from './notices.svelte'

const SOUNDS = 'allstop.sounds'
const DESKTOP = 'allstop.notifications'
const MUTED = 'allstop.muted'
/** The most notifications at once; the page shows all alerts anyway. */
const MOST = 3

class BrowserAlerts {
  /** The person's choice in this browser; both are off at first. */
  sounds = $state(stored(SOUNDS))
  desktop = $state(stored(DESKTOP) && permission() === 'granted')
  isMuted = $state(stored(MUTED))
  /** The `[notify]` settings of allstop.toml. */
  settings = $state.raw({ sounds: true, desktop: true, quiet: '', zone: '' })
  permission = $state(permission())

  #audio: AudioContext | undefined
  #role: TabRole = { isSpeaker: true, isWatched: true }

  get isOn(): boolean {
    return this.sounds || this.desktop
  }

  async load(): Promise<void> {
    const { settings } = await get<SettingList>('/settings')
    const value = (key: string) => settings.find((row) => row.key === `notify.${key}`)?.value
    this.settings = {
      sounds: value('sounds') !== false,
      desktop: value('desktop') !== false,
      quiet: String(value('quiet') ?? ''),
      zone: String(value('zone') ?? ''),
    }
  }

  /** Follows the tab's state and role until the returned function is called. */
  start(): () => void {
    const reportTab = () =>
      connection.setTabState({
        isVisible: !document.hidden,
        canSound: this.#audio?.state === 'running',
      })
    // A browser allows sounds only after a click or a key on the page.
    const wakeAudio = () => this.sounds && void this.#wake().then(reportTab)
    const readChoice = () => {
      this.sounds = stored(SOUNDS)
      this.desktop = stored(DESKTOP) && permission() === 'granted'
      this.isMuted = stored(MUTED)
    }
    connection.onTabRole((role) => (this.#role = role))
    document.addEventListener('visibilitychange', reportTab)
    addEventListener('pointerdown', wakeAudio)
    addEventListener('keydown', wakeAudio)
    addEventListener('storage', readChoice)
    reportTab()
    return () => {
      document.removeEventListener('visibilitychange', reportTab)
      removeEventListener('pointerdown', wakeAudio)
      removeEventListener('keydown', wakeAudio)
      removeEventListener('storage', readChoice)
    }
  }

  /** Called by a click: browsers allow sounds and permission requests only then. */
  async turnSounds(on: boolean): Promise<void> {
    this.sounds = store(SOUNDS, on)
    if (!on) return
    this.isMuted = store(MUTED, false)
    const audio = await this.#wake()
    if (audio) play(audio, 'finished')
    connection.setTabState({ isVisible: !document.hidden, canSound: audio?.state === 'running' })
  }

  async turnDesktop(on: boolean): Promise<void> {
    if (on && permission() === 'default') await Notification.requestPermission()
    this.permission = permission()
    this.desktop = store(DESKTOP, on && this.permission === 'granted')
    if (this.desktop) this.isMuted = store(MUTED, false)
  }

  mute(on: boolean): void {
    this.isMuted = store(MUTED, on)
  }

  show(all: readonly Alert[]): void {
    const { quiet, zone } = this.settings
    const alerts = quiet && isQuiet(quiet, zone, new Date()) ? all.filter(isUrgent) : all
    if (!alerts.length || this.isMuted || !this.#role.isSpeaker) return
    if (this.sounds && this.settings.sounds && this.#audio?.state === 'running')
      play(this.#audio, alerts[0]!.kind)
    if (!this.desktop || !this.settings.desktop || this.#role.isWatched) return
    for (const alert of alerts.filter(showsNotification).slice(0, MOST)) this.#notify(alert)
  }

  #notify({ title, text, name, to }: Alert): void {
    try {
      const shown = new Notification(plain(title), { body: plain(text), tag: name, silent: true })
      shown.onclick = () => {
        window.focus()
        location.hash = to
        shown.close()
      }
    } catch (error) {
      // Some phones grant the permission and refuse notifications anyway.
      this.desktop = store(DESKTOP, false)
      notices.error(error)
    }
  }

  async #wake(): Promise<AudioContext | undefined> {
    if (typeof AudioContext === 'undefined') return undefined
    this.#audio ??= new AudioContext()
    if (this.#audio.state === 'suspended') await this.#audio.resume().catch(() => undefined)
    return this.#audio
  }
}

function permission(): NotificationPermission | 'missing' {
  return typeof Notification === 'undefined' ? 'missing' : Notification.permission
}

function stored(key: string): boolean {
  return localStorage.getItem(key) === 'yes'
}

function store(key: string, on: boolean): boolean {
  localStorage.setItem(key, on ? 'yes' : 'no')
  return on
}

export const browserAlerts = new BrowserAlerts()
