import { isLight } from '../../portal/brand-color.ts'

// light-dark() follows the color-scheme of the page, so that the element is dark where the page is, and not where only the system is.
const RULES = `
:host { display: block; container-type: inline-size; color: var(--_text); font: 400 1rem/1.5 var(--namesake-font, ui-sans-serif, system-ui, "Segoe UI", Roboto, Arial, sans-serif);
  --_accent: var(--namesake-accent, var(--_brand, #0f766e)); --_on-accent: var(--namesake-on-accent, var(--_on-brand, #fff));
  --_text: var(--namesake-text, light-dark(#1c1917, #f5f5f4)); --_muted: var(--namesake-muted, light-dark(#57534e, #a8a29e));
  --_border: var(--namesake-border, light-dark(#d6d3d1, #44403c)); --_background: var(--namesake-background, light-dark(#fff, #1c1917));
  --_surface: var(--namesake-surface, light-dark(#f5f5f4, #0c0a09)); --_radius: var(--namesake-radius, 0.75rem); }
:host([hidden]), [hidden] { display: none !important; }
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
:host([theme="auto"]) { color-scheme: light dark; }
* { box-sizing: border-box; }
.container { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; padding: clamp(1rem, 4cqi, 1.75rem); overflow-wrap: anywhere; text-align: start;
  background: var(--_background); border: 1px solid var(--_border); border-block-start: 0.375rem solid var(--_accent); border-radius: var(--_radius); }
.place, .card { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.75rem; }
.place:empty { display: none; }
.card { border-block-start: 1px solid var(--_border); padding-block-start: 1.25rem; gap: 1.25rem; }
h2, h3, p, dl, dd, ol { margin: 0; }
h2 { font-size: 1.375rem; line-height: 1.25; text-wrap: balance; }
h3 { font-size: 1.0625rem; }
header { display: flex; align-items: center; gap: 0.75rem; font-weight: 600; }
.mark, .tick { flex: none; display: inline-grid; place-items: center; inline-size: 2.25rem; block-size: 2.25rem; border-radius: 0.5rem; background: var(--_accent); color: var(--_on-accent); }
.muted, .lead, dt { color: var(--_muted); }
.muted, dt, label { font-size: 0.875rem; }
.hint { display: block; font-size: 0.8125rem; color: var(--_muted); }
.record { border: 1px solid var(--_border); border-radius: var(--_radius); }
.record .field + .field { border-block-start: 1px solid var(--_border); }
.form { margin-block: 0.5rem; padding: 0.25rem; border-radius: var(--_radius); background: var(--_surface); }
.field { display: flex; flex-wrap: wrap; align-items: center; column-gap: 0.75rem; padding: 0.375rem 0.5rem 0.375rem 0.875rem; }
dt { flex: none; inline-size: 7rem; }
.record dt { inline-size: 3.5rem; }
dd { flex: 1 1 11rem; display: grid; grid-template-columns: minmax(0, 1fr) auto; align-items: center; gap: 0.25rem 0.5rem; min-inline-size: 0; }
.value { font: 500 0.875rem/1.5 ui-monospace, Menlo, Consolas, monospace; }
button, .primary, select { font: inherit; font-weight: 500; min-block-size: 2.75rem; padding: 0.375rem 1rem; border: 1px solid var(--_border); border-radius: calc(var(--_radius) * 0.67); background: var(--_background); color: var(--_text); }
button, select { cursor: pointer; }
button:hover { background: var(--_surface); }
button[aria-disabled="true"] { cursor: progress; color: var(--_muted); }
.small { flex: none; min-block-size: 2.25rem; min-inline-size: 4.5rem; padding: 0.125rem 0.625rem; font-size: 0.8125rem; }
select { inline-size: 100%; text-overflow: ellipsis; }
label { font-weight: 500; }
.primary { display: inline-flex; align-items: center; text-decoration: none; border-color: transparent; background: var(--_accent); color: var(--_on-accent); }
.primary:hover, .link:hover { text-decoration-thickness: 2px; }
.link { color: inherit; font-weight: 500; }
.steps { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.75rem; padding-inline-start: 1.375rem; font-size: 0.9375rem; }
.strong { font-weight: 600; }
.notice { padding: 0.75rem 1rem; border-radius: var(--_radius); background: var(--_surface); border-inline-start: 0.25rem solid var(--_border); }
.warning { border-inline-start-color: light-dark(#d97706, #f59e0b); }
.done { display: grid; justify-items: start; gap: 0.875rem; padding: clamp(1rem, 5cqi, 1.75rem); border: 1px solid light-dark(#6ee7b7, #065f46); border-radius: var(--_radius); background: light-dark(#ecfdf5, #022c22); color: light-dark(#1c1917, #f5f5f4); }
.done h3 { display: flex; align-items: center; gap: 0.75rem; font-size: 1.25rem; }
.tick { inline-size: 2rem; block-size: 2rem; border-radius: 50%; background: #047857; color: #fff; }
.hindered { border-color: light-dark(#fcd34d, #92400e); background: light-dark(#fffbeb, #291a06); }
.hindered .tick { background: #b45309; }
.under-way::after { content: ""; inline-size: 1rem; block-size: 1rem; border: 2px solid; border-inline-end-color: transparent; border-radius: 50%; animation: turn 1s linear infinite; }
.unseen { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
:focus-visible { outline: 2px solid var(--_accent); outline: 2px solid var(--namesake-focus, light-dark(#0f766e, #2dd4bf)); outline-offset: 2px; }
h2:focus { outline: none; }
@keyframes turn { to { rotate: 1turn; } }
@media (prefers-reduced-motion: reduce) { .under-way::after { animation: none; } }
@media (forced-colors: active) { .mark, .tick, .primary { border: 1px solid; } }
`

/** The element's own look, and how to give it the vendor's colour (#rrggbb). A style sheet in memory: the page's policy has no say in it. */
export function createStyle(): { sheets: CSSStyleSheet[]; setColor(color: string | null): void } {
  const rules = new CSSStyleSheet()
  rules.replaceSync(RULES)
  const brand = new CSSStyleSheet()
  return {
    sheets: [brand, rules],
    setColor(color) {
      const isColor = color !== null && /^#[0-9a-f]{6}$/i.test(color)
      brand.replaceSync(isColor ? `:host { --_brand: ${color}; --_on-brand: ${isLight(color) ? '#1c1917' : '#fff'}; }` : '')
    },
  }
}
