import { isToDo } from '../../portal/connection.ts'
import type { Connect } from '../../portal/records.ts'
import { createRetryPauses } from '../../portal/retry-pauses.ts'
import { type Answer, type Link, openLink, type Trouble } from './link.ts'
import type { ConnectStatus, NamesakeConnectElement } from './namesake-connect.d.ts'
import { createStyle } from './style.ts'
import { createView, type Shown } from './view.ts'
import { createSay, endTitle, explain, findingTitle, hinderedKey, type Strings } from './words.ts'

const NAME = 'namesake-connect'

/** Where the element is imported without a browser it is nothing, so that a page can be rendered on a server. */
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement)

/**
 * `<namesake-connect token api theme strings>`: what the owner of a hostname has to do, and how it stands. `api` may be left out where the script comes
 * from the API. Dispatches `namesake-status` ({hostname, status}) at each change and `namesake-connected` ({hostname}) once it is live; both bubble, out
 * of shadow trees too. Nothing that goes wrong is thrown into the page.
 */
class NamesakeConnect extends Base implements NamesakeConnectElement {
  static readonly observedAttributes = ['token', 'api', 'strings', 'lang']
  readonly #root = this.attachShadow({ mode: 'open' })
  readonly #style = createStyle()
  readonly #view = createView(this.#root, { check: () => void this.#learn('check'), retry: () => void this.#learn('load') })
  #strings: Strings = {}
  #shown: Shown = { kind: 'loading' }
  #link: Link | undefined
  #unfollow: (() => void) | undefined
  readonly #pauses = createRetryPauses()
  #retry: ReturnType<typeof setTimeout> | undefined
  #isOpening = false
  #hasNews = false
  #asked = 0
  #told = ''

  constructor() {
    super()
    this.#root.adoptedStyleSheets = this.#style.sheets
  }

  /** Sentences and labels that take the place of the English ones: see words.ts for their keys. */
  get strings(): Strings {
    return this.#strings
  }

  set strings(strings: Strings) {
    this.#strings = typeof strings === 'object' && strings !== null ? { ...strings } : {}
    this.#draw()
  }

  connectedCallback(): void {
    // A property that was set before the script had come lies on the element itself, above the accessor.
    if (Object.hasOwn(this, 'strings')) {
      const { strings } = this
      Reflect.deleteProperty(this, 'strings')
      this.strings = strings
    }
    this.#open()
  }

  disconnectedCallback(): void {
    this.#close()
  }

  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    if (before === value) return
    if (name === 'strings') this.strings = parseStrings(value)
    else if (name === 'lang') this.#draw()
    else if (this.isConnected) this.#open()
  }

  /** Once for all attributes that are set in one go. */
  #open(): void {
    if (this.#isOpening) return
    this.#isOpening = true
    queueMicrotask(() => {
      this.#isOpening = false
      this.#close()
      if (!this.isConnected) return
      const token = this.getAttribute('token')?.trim()
      const api = apiAddress(this.getAttribute('api'))
      if (!token || !api) return this.#show({ kind: 'incomplete' })
      this.#show({ kind: 'loading' })
      this.#link = openLink(api, token)
      this.#unfollow = this.#link.follow(() => void this.#learn('load'))
      void this.#learn('load')
    })
  }

  #close(): void {
    this.#unfollow?.()
    clearTimeout(this.#retry)
    this.#pauses.restart()
    this.#unfollow = this.#link = undefined
    this.#asked += 1
    this.#hasNews = false
    this.#told = ''
  }

  /** The answer to the latest question counts; an earlier one that comes later is dropped. Who asked by hand is answered before news are looked at. */
  async #learn(how: 'load' | 'check'): Promise<void> {
    const link = this.#link
    if (!link) return
    if (this.#isChecking()) {
      this.#hasNews = true
      return
    }
    clearTimeout(this.#retry)
    this.#asked += 1
    const question = this.#asked
    if (how === 'check' && this.#shown.kind === 'found') this.#show({ ...this.#shown, isChecking: true })
    const answer = await link[how]()
    if (question !== this.#asked) return
    this.#take(answer, how)
    if (!this.#hasNews) return
    this.#hasNews = false
    void this.#learn('load')
  }

  #isChecking(): boolean {
    return this.#shown.kind === 'found' && this.#shown.isChecking
  }

  #take(answer: Answer, how: 'load' | 'check'): void {
    const before = this.#told
    if (answer.kind === 'found') {
      this.#pauses.restart()
      this.#show({ kind: 'found', connect: answer.connect, isChecking: false })
      if (how === 'check' && before === this.#told) this.#view.announce(this.#finding(answer.connect.dns))
      if (answer.connect.status === 'live') this.#unfollow?.() // there is nothing more to wait for
    } else if (answer.kind === 'ended') {
      this.#unfollow?.()
      this.#show({ kind: 'ended' })
    } else {
      // The stream stays open meanwhile, and may tell of nothing more: what it told of last would be lost.
      this.#retry = setTimeout(() => void this.#learn('load'), this.#pauses.nextMs(answer.retryAfterMs))
      this.#lament(answer.trouble, how)
    }
  }

  #lament(trouble: Trouble, how: 'load' | 'check'): void {
    const shown = this.#shown
    this.#show(shown.kind === 'found' ? { ...shown, trouble, isChecking: false } : { kind: 'problem', trouble })
    if (how === 'check') this.#view.announce(explain(trouble, createSay(this.#strings)))
  }

  #show(shown: Shown): void {
    this.#shown = shown
    this.#draw()
    this.#tell()
  }

  #draw(): void {
    const say = createSay(this.#strings)
    const shown = this.#shown
    if (shown.kind === 'found') this.#style.setColor(shown.connect.project.color)
    this.#view.show(shown, say, this.closest('[lang]')?.getAttribute('lang') || undefined)
  }

  #tell(): void {
    const shown = this.#shown
    if (shown.kind === 'loading') return
    const hostname = shown.kind === 'found' ? shown.connect.hostname : undefined
    const status: ConnectStatus = shown.kind === 'found' ? shown.connect.status : shown.kind === 'problem' ? shown.trouble.kind : shown.kind
    if (status === this.#told) return
    this.#told = status
    this.#view.announce(this.#outcome())
    this.#dispatch('namesake-status', { hostname, status })
    if (status === 'live') this.#dispatch('namesake-connected', { hostname })
  }

  /** How it stands, for a screen reader: one sentence. */
  #outcome(): string {
    const say = createSay(this.#strings)
    const shown = this.#shown
    switch (shown.kind) {
      case 'loading':
        return say('loading')
      case 'problem':
        return explain(shown.trouble, say)
      case 'incomplete':
      case 'ended':
        return `${say(`${shown.kind}Title`)}. ${say(`${shown.kind}Text`)}`
      case 'found': {
        const { hostname, dns } = shown.connect
        if (isToDo(shown.connect)) return `${hostname}: ${say(findingTitle(shown.connect))}. ${this.#finding(dns)}`
        const hindered = hinderedKey(shown.connect)
        return `${hostname}: ${say(endTitle(shown.connect))}.${hindered ? ` ${say(hindered)}` : ''}`
      }
    }
  }

  #finding({ state, sentence }: Connect['dns']): string {
    return createSay(this.#strings)(`found.${state}`) ?? sentence
  }

  #dispatch(name: string, detail: object): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }))
  }
}

function parseStrings(json: string | null): Strings {
  try {
    return JSON.parse(json ?? '{}') as Strings
  } catch {
    return {} // the page is read in English rather than not at all
  }
}

/** Of an http or https address; without one, where this script came from. */
function apiAddress(given: string | null): string | undefined {
  try {
    const url = new URL(given?.trim() || new URL(import.meta.url).origin, document.baseURI)
    return /^https?:$/.test(url.protocol) ? url.origin + url.pathname : undefined
  } catch {
    return undefined
  }
}

if (globalThis.customElements && !customElements.get(NAME)) customElements.define(NAME, NamesakeConnect)
