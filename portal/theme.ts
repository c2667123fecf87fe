export type Theme = 'system' | 'light' | 'dark'

const KEY = 'namesake.theme'

export function readTheme(): Theme {
  const chosen = localStorage.getItem(KEY)
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

/** Keeps the choice in this browser and applies it at once, in every open tab: public/theme.js does that. */
export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  dispatchEvent(new Event('themechange'))
}
