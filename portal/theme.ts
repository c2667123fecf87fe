export type Theme = 'system' | 'light' | 'dark'

const KEY = 'namesake.theme'

export function readTheme(): Theme {
  try {
    const chosen = localStorage.getItem(KEY)
    return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
  } catch {
    return 'system' // some browsers keep nothing, and throw
  }
}

/** Keeps the choice in this browser and applies it at once, in every open tab: public/theme.js does that. */
export function chooseTheme(theme: Theme): void {
  try {
    if (theme === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
  } catch {}
  dispatchEvent(new Event('themechange'))
}
