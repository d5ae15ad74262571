// Sounds and notifications of this browser: wanted or not, allowed or not, and by which tab.

import { get } from '../lib/api'
import type { Role } from '../lib/picking'
import { isQuiet } from '../lib/quiet'
import { plain } from '../lib/terminal'
import { isNotified, isUrgent, type Tiding } from '../lib/tidings'
import { play } from '../lib/tones'
import type { SettingList } from '../lib/wire'
import { notices } from './notices.svelte'
import { world } from './world.svelte'

const SOUNDS = 'allstop.sounds'
const DESKTOP = 'allstop.notifications'
const MUTED = 'allstop.muted'
/** Of many tidings at once so many are shown; the page has them all. */
const MOST = 3

class Alerting {
  /** What the person chose in this browser; nothing until they did. */
  sounds = $state(kept(SOUNDS))
  desktop = $state(kept(DESKTOP) && permission() === 'granted')
  isMuted = $state(kept(MUTED))
  /** What allstop.toml says of both, and when. */
  settings = $state.raw({ sounds: true, desktop: true, quiet: '', zone: '' })
  permission = $state(permission())

  #audio: AudioContext | undefined
  #role: Role = { tells: true, isWatched: true }

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

  begin(): () => void {
    const stand = () =>
      world.stand({ isVisible: !document.hidden, canSound: this.#audio?.state === 'running' })
    // A browser makes no sound before somebody touched the page.
    const touched = () => this.sounds && void this.#wake().then(stand)
    const chosenElsewhere = () => {
      this.sounds = kept(SOUNDS)
      this.desktop = kept(DESKTOP) && permission() === 'granted'
      this.isMuted = kept(MUTED)
    }
    world.onRole((role) => (this.#role = role))
    document.addEventListener('visibilitychange', stand)
    addEventListener('pointerdown', touched)
    addEventListener('keydown', touched)
    addEventListener('storage', chosenElsewhere)
    stand()
    return () => {
      document.removeEventListener('visibilitychange', stand)
      removeEventListener('pointerdown', touched)
      removeEventListener('keydown', touched)
      removeEventListener('storage', chosenElsewhere)
    }
  }

  /** By a click, and only so: browsers want that, and people too. */
  async turnSounds(on: boolean): Promise<void> {
    this.sounds = keep(SOUNDS, on)
    if (!on) return
    this.isMuted = keep(MUTED, false)
    const audio = await this.#wake()
    if (audio) play(audio, 'finished')
    world.stand({ isVisible: !document.hidden, canSound: audio?.state === 'running' })
  }

  async turnDesktop(on: boolean): Promise<void> {
    if (on && permission() === 'default') await Notification.requestPermission()
    this.permission = permission()
    this.desktop = keep(DESKTOP, on && this.permission === 'granted')
    if (this.desktop) this.isMuted = keep(MUTED, false)
  }

  mute(on: boolean): void {
    this.isMuted = keep(MUTED, on)
  }

  tell(all: readonly Tiding[]): void {
    const { quiet, zone } = this.settings
    const tidings = quiet && isQuiet(quiet, zone, new Date()) ? all.filter(isUrgent) : all
    if (!tidings.length || this.isMuted || !this.#role.tells) return
    if (this.sounds && this.settings.sounds && this.#audio?.state === 'running')
      play(this.#audio, tidings[0]!.occasion)
    if (!this.desktop || !this.settings.desktop || this.#role.isWatched) return
    for (const tiding of tidings.filter(isNotified).slice(0, MOST)) this.#show(tiding)
  }

  #show({ title, text, name, to }: Tiding): void {
    try {
      const shown = new Notification(plain(title), { body: plain(text), tag: name, silent: true })
      shown.onclick = () => {
        window.focus()
        location.hash = to
        shown.close()
      }
    } catch (error) {
      // Some phones have the permission and refuse all the same.
      this.desktop = keep(DESKTOP, false)
      notices.failed(error)
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

function kept(key: string): boolean {
  return localStorage.getItem(key) === 'yes'
}

function keep(key: string, on: boolean): boolean {
  localStorage.setItem(key, on ? 'yes' : 'no')
  return on
}

export const alerting = new Alerting()
