// The theme: light, dark, or the system's.

export type Theme = 'system' | 'light' | 'dark'

export const THEMES: readonly Theme[] = ['system', 'light', 'dark']

const KEY = 'allstop.theme'
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

class ThemeChoice {
  current = $state<Theme>(stored())

  apply(): void {
    const root = document.documentElement
    if (this.current === 'system') delete root.dataset.theme
    else root.dataset.theme = this.current
  }

  next(): void {
    this.choose(NEXT[this.current])
  }

  choose(theme: Theme): void {
    this.current = theme
    localStorage.setItem(KEY, this.current)
    this.apply()
  }
}

function stored(): Theme {
  const found = localStorage.getItem(KEY)
  return found === 'light' || found === 'dark' ? found : 'system'
}

export const theme = new ThemeChoice()
