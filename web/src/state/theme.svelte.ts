// Light, dark, or as the system is.

export type Theme = 'system' | 'light' | 'dark'

export const THEMES: readonly Theme[] = ['system', 'light', 'dark']

const KEY = 'allstop.theme'
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

class Choice {
  is = $state<Theme>(kept())

  apply(): void {
    const root = document.documentElement
    if (this.is === 'system') delete root.dataset.theme
    else root.dataset.theme = this.is
  }

  next(): void {
    this.choose(NEXT[this.is])
  }

  choose(is: Theme): void {
    this.is = is
    localStorage.setItem(KEY, this.is)
    this.apply()
  }
}

function kept(): Theme {
  const found = localStorage.getItem(KEY)
  return found === 'light' || found === 'dark' ? found : 'system'
}

export const theme = new Choice()
