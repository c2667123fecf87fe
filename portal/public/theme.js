// Loaded before the page is painted, so that a chosen theme never flashes the other one. See theme.ts.
;(() => {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const chosen = () => {
    try {
      return localStorage.getItem('namesake.theme')
    } catch {
      return null
    }
  }
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (system.matches ? 'dark' : 'light')
  }
  apply()
  system.addEventListener('change', apply)
  for (const event of ['storage', 'themechange']) addEventListener(event, apply)
})()
