/** The reference page's style: the reader's own fonts, light and dark, narrow and wide, paper. */
export const DOCS_STYLE = `
:root { color-scheme: light dark; --text: #1c2330; --quiet: #5b6575; --line: #dfe3ea; --paper: #ffffff; --shade: #f5f7fa; --accent: #1a56c4; --get: #1a6b45; --post: #1a56c4; --delete: #a8322a }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ef; --quiet: #9aa5b5; --line: #2f3743; --paper: #14181f; --shade: #1c222b; --accent: #82b1ff; --get: #6fd0a0; --post: #82b1ff; --delete: #ff9088 } }
* { box-sizing: border-box }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100% }
body { margin: 0; background: var(--paper); color: var(--text); font: 16px/1.55 system-ui, sans-serif }
a { color: var(--accent); text-underline-offset: .15em }
.page { display: grid; grid-template-columns: 15rem minmax(0, 46rem); gap: 0 3.5rem; max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.5rem 6rem }
header, main { grid-column: 2 }
nav { grid-column: 1; grid-row: 1 / span 2; position: sticky; top: 2.5rem; align-self: start; max-height: calc(100vh - 5rem); overflow: auto; font-size: .9rem }
nav h2 { margin: 1.25rem 0 .25rem; border: 0; padding: 0; font-size: .75rem; letter-spacing: .06em; text-transform: uppercase; color: var(--quiet) }
nav h2:first-child { margin-top: 0 }
nav ul { margin: 0; padding: 0; list-style: none }
nav a { display: block; padding: .15rem 0; color: inherit; text-decoration: none }
nav a:hover { color: var(--accent); text-decoration: underline }
h1 { margin: 0; font-size: 2rem; letter-spacing: -.015em; line-height: 1.2 }
h1 small { font-size: .9rem; font-weight: 400; color: var(--quiet); letter-spacing: 0 }
h2 { margin: 3.5rem 0 1rem; padding-top: 1.5rem; border-top: 1px solid var(--line); font-size: 1.45rem; letter-spacing: -.01em }
h3 { margin: 2.75rem 0 .25rem; font-size: 1.12rem }
h4 { margin: 1.5rem 0 .25rem; font-size: .9rem; color: var(--quiet); font-weight: 600 }
h3 a, dt a { color: inherit; text-decoration: none }
p { margin: .5rem 0 }
code, pre { font-family: ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, monospace; font-size: .86em }
code { overflow-wrap: anywhere }
p code, dd code, li code { background: var(--shade); border-radius: 4px; padding: .1em .3em }
pre { margin: .75rem 0; padding: .85rem 1rem; overflow-x: auto; background: var(--shade); border: 1px solid var(--line); border-radius: 8px; line-height: 1.5 }
pre code { overflow-wrap: normal }
.call { display: flex; flex-wrap: wrap; gap: .25rem .6rem; align-items: baseline; margin: .35rem 0 .5rem }
.method { font-weight: 700; font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, monospace; font-size: .8rem }
.get { color: var(--get) } .post { color: var(--post) } .delete { color: var(--delete) }
dl { margin: .25rem 0 }
dt { margin-top: .6rem; padding-top: .6rem; border-top: 1px solid var(--line) }
dl > dt:first-child { border-top: 0; padding-top: 0 }
dt code { font-weight: 600 }
dt span { color: var(--quiet); font-size: .86rem; margin-left: .4rem }
dd { margin: .1rem 0 0 }
summary { cursor: pointer; color: var(--accent); font-size: .9rem; padding: .15rem 0 }
dd dl { margin-left: .25rem; padding-left: 1rem; border-left: 2px solid var(--line) }
:target { background: color-mix(in srgb, var(--accent) 14%, transparent); border-radius: 4px }
@media (max-width: 52rem) { .page { display: block; padding: 1.25rem 1rem 4rem } nav { position: static; max-height: none; margin: 1.5rem 0 2rem; padding: 1rem; border: 1px solid var(--line); border-radius: 8px } nav a { padding: .4rem 0 } }
@media print { nav { display: none } .page { display: block } }
`
