type Attributes = Record<string, string | undefined>
export type Child = Node | string | undefined | false

/** An element with attributes and children. There is no attribute `style` here, and no HTML as text: the page's policy may forbid both. */
export function node<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(name, value)
  made.append(...children.filter((child) => child !== undefined && child !== false))
  return made
}

/** A place of the view that is drawn anew only when its facts differ. Who is on its n-th link or button is on the new n-th one then. */
export type Place = { box: HTMLElement; draw(facts: unknown, content: () => Child[]): void; clear(): void }

export function createPlace(): Place {
  const box = node('div', { class: 'place' })
  const stops = () => [...box.querySelectorAll<HTMLElement>('a, button, select')]
  let drawn: string | undefined
  return {
    box,
    draw(facts, content) {
      const wanted = JSON.stringify(facts)
      if (wanted === drawn) return
      drawn = wanted
      const at = stops().indexOf((box.getRootNode() as ShadowRoot).activeElement as HTMLElement)
      box.replaceChildren(...content().filter((child) => child !== undefined && child !== false))
      stops()[at]?.focus()
    },
    clear() {
      drawn = undefined
      box.replaceChildren()
    },
  }
}

/** A link out of the page. `hidden` says to a screen reader what a sighted person sees by the new tab. */
export function outerLink(href: string, label: string, hidden: string, part: string): HTMLAnchorElement {
  return node(
    'a',
    { href, target: '_blank', rel: 'noopener noreferrer', part, class: part },
    label,
    node('span', { class: 'unseen' }, ` ${hidden}`),
  )
}
