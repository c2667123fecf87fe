import { certificateRecord, isToDo, isVendorsToMend, lacksOwnRecordAlone, recordsTitle, recordsToAdd } from '../../portal/connection.ts'
import type { Connect, DomainStatus } from '../../portal/records.ts'
import { unicodeOf } from '../../portal/unicode-name.ts'
import type { Trouble } from './link.ts'
import { type Child, createPlace, node, outerLink } from './nodes.ts'
import { drawRecords } from './record-view.ts'
import { drawChoice, drawHint, drawSteps } from './steps-view.ts'
import { endTitle, explain, findingTitle, hinderedKey, type Say } from './words.ts'

/** What there is to show. `trouble`: the last attempt to learn more failed, and what is shown may be old. */
export type Shown =
  | { kind: 'loading' | 'incomplete' | 'ended' }
  | { kind: 'problem'; trouble: Trouble }
  | { kind: 'found'; connect: Connect; trouble?: Trouble; isChecking: boolean }

export type Actions = { check(): void; retry(): void }
export type View = { show(shown: Shown, say: Say, locale: string | undefined): void; announce(sentence: string): void }

const UNDER_WAY: readonly DomainStatus[] = ['verified', 'certificate-pending', 'certificate-failed']

/** Draws into the shadow root. What has not changed stays in place; where focus would be lost it goes to the heading. */
export function createView(root: ShadowRoot, actions: Actions): View {
  const places = {
    header: createPlace(),
    title: createPlace(),
    record: createPlace(),
    choice: createPlace(),
    hint: createPlace(),
    steps: createPlace(),
    now: createPlace(),
    foot: createPlace(),
  }
  const heading = node('h2', { part: 'heading', tabindex: '-1' })
  const live = node('p', { class: 'unseen', role: 'status', 'aria-live': 'polite' })
  const again = node('button', { type: 'button', part: 'button check' })
  again.addEventListener('click', () => again.ariaDisabled !== 'true' && actions.check())
  const select = node('select', { id: 'provider', part: 'select', 'aria-describedby': 'provider-hint' })
  const steps = [places.choice.box, places.hint.box, places.steps.box]
  const records = node('section', { part: 'card', class: 'card' }, places.record.box, ...steps)
  const findings = node('section', { part: 'card', class: 'card' }, places.now.box, node('p', {}, again))
  root.append(
    node(
      'div',
      { part: 'container', class: 'container' },
      places.header.box,
      heading,
      places.title.box,
      findings, // what is wrong comes before the long steps
      records,
      places.foot.box,
      live,
    ),
  )
  let chosen: { provider: string; hostname: string } | undefined
  let shownHostname = ''
  let showAgain = () => {}
  select.addEventListener('change', () => {
    chosen = { provider: select.value, hostname: shownHostname }
    showAgain()
  })

  const announce = (sentence: string) => {
    live.textContent = live.textContent === sentence ? `${sentence}\u00a0` : sentence // the same again would not be read out
  }

  const showFound = (shown: Shown & { kind: 'found' }, say: Say, locale: string | undefined, words: string) => {
    const { connect, trouble, isChecking } = shown
    const { hostname, project, status, dns, zone, provider, expiresAt } = connect
    const toDo = isToDo(connect)
    const isForOthers = isVendorsToMend(connect)
    const hindered = hinderedKey(connect)
    const vendor = project.name
    const spelt = unicodeOf(hostname)
    shownHostname = hostname
    heading.textContent = say('heading', { hostname: spelt ?? hostname })
    places.header.draw([project, words], () => [header(vendor)])
    places.title.draw([status, toDo, isForOthers, hindered, vendor, hostname, words], () => [
      spelt !== undefined && node('p', { part: 'dns-name', class: 'muted' }, say('inDns', { hostname })),
      toDo ? !isForOthers && node('p', { class: 'lead' }, say('lead', { vendor })) : end(connect, say),
    ])
    records.hidden = !toDo || isForOthers
    findings.hidden = !toDo && !hindered
    if (toDo) {
      const copying = { say, announce }
      // The element may be given another link: the provider of one customer is not that of the next.
      const known = (chosen?.hostname === hostname ? chosen.provider : provider?.id) ?? ''
      const facts = [hostname, recordsToAdd(connect), zone, words]
      places.record.draw([facts, recordsTitle(dns, certificateRecord(connect))], () => drawRecords(connect, copying))
      places.choice.draw(words, () => drawChoice(select, say))
      if (select.value !== known) select.value = known
      places.hint.draw([provider, known, words], () => drawHint(connect, known, say))
      places.steps.draw([facts, known], () => drawSteps(connect, known, copying))
    }
    if (toDo || hindered) {
      places.now.draw([status, dns.state, dns.sentence, dns.delegation, dns.warnings, trouble, words], () => now(connect, trouble, say))
      again.textContent = say(isChecking ? 'checking' : 'check')
      again.ariaDisabled = String(isChecking)
    }
    places.foot.draw([expiresAt, locale, words], () => [node('p', { class: 'hint' }, say('expires', { date: onDate(expiresAt, locale) }))])
  }

  const showOther = (shown: Exclude<Shown, { kind: 'found' }>, say: Say, words: string) => {
    for (const place of Object.values(places)) if (place !== places.title) place.clear()
    records.hidden = findings.hidden = true
    const isProblem = shown.kind === 'problem'
    heading.textContent = isProblem ? say('problemTitle') : shown.kind === 'loading' ? '' : say(`${shown.kind}Title`)
    places.title.draw([shown, words], () => {
      if (shown.kind === 'loading') return [node('p', { class: 'muted' }, say('loading'))]
      if (shown.kind !== 'problem') return [node('p', { part: 'notice', class: 'notice' }, say(`${shown.kind}Text`))]
      const retry = node('button', { type: 'button', part: 'button retry' }, say('retry'))
      retry.addEventListener('click', actions.retry)
      return [node('p', { part: 'notice', class: 'notice' }, explain(shown.trouble, say)), node('p', {}, retry)]
    })
  }

  return {
    announce,
    show(shown, say, locale) {
      showAgain = () => this.show(shown, say, locale)
      const hadFocus = root.activeElement !== null
      const words = say.language
      if (shown.kind === 'found') showFound(shown, say, locale, words)
      else showOther(shown, say, words)
      heading.hidden = heading.textContent === ''
      const focused = root.activeElement
      if (hadFocus && (focused === null || focused.closest('[hidden]'))) heading.focus()
    },
  }
}

function header(vendor: string): HTMLElement {
  const initial = Array.from(vendor)[0]?.toUpperCase() ?? ''
  return node(
    'header',
    { part: 'header' },
    node('span', { part: 'mark', class: 'mark', 'aria-hidden': 'true' }, initial),
    node('span', { part: 'vendor', class: 'vendor' }, vendor),
  )
}

function now(connect: Connect, trouble: Trouble | undefined, say: Say): Child[] {
  const { status, dns } = connect
  const further = certificateRecord(connect)
  const isToAdd = lacksOwnRecordAlone(dns)
  const notice = node(
    'div',
    { part: `notice ${status}`, class: status === 'wrong-record' && !isToAdd && !isVendorsToMend(connect) ? 'notice warning' : 'notice' },
    node('strong', {}, say(findingTitle(connect))),
    node('p', {}, say(`found.${dns.state}`) ?? dns.sentence),
    further && node('p', {}, say(`found.delegation-${further.state}`) ?? further.sentence),
    (dns.state === 'absent' || isToAdd) && node('p', {}, say('waitingText')),
  )
  const warnings = (dns.warnings ?? []).map(({ kind, sentence }) =>
    node('p', { part: 'notice', class: 'notice warning' }, say(`found.${kind}`) ?? sentence),
  )
  return [
    node('h3', {}, say('now')),
    trouble && node('p', { part: 'notice', class: 'notice warning' }, explain(trouble, say)),
    notice,
    ...warnings,
    node('p', { class: 'muted' }, say('watching')),
  ]
}

function end(connect: Connect, say: Say): HTMLElement {
  const { hostname, status, project } = connect
  const hindered = hinderedKey(connect)
  const isUnderWay = UNDER_WAY.includes(status) && !hindered
  const sentence = hindered
    ? say(hindered)
    : status === 'live'
      ? say('liveText', { vendor: project.name })
      : say(status === 'certificate-failed' ? 'failedText' : 'verifiedText')
  // A name with a star is no address that could be opened.
  const isOpened = status === 'live' && !hostname.startsWith('*.')
  return node(
    'section',
    { part: `done ${status}`, class: hindered ? 'done hindered' : 'done' },
    node(
      'h3',
      {},
      node('span', { class: isUnderWay ? 'tick under-way' : 'tick', 'aria-hidden': 'true' }, isUnderWay ? '' : hindered ? '!' : '✓'),
      say(endTitle(connect)),
    ),
    node('p', {}, sentence),
    isOpened && node('p', {}, outerLink(`https://${hostname}`, say('open', { hostname }), say('newTab'), 'primary')),
  )
}

function onDate(iso: string, locale: string | undefined): string {
  try {
    return new Intl.DateTimeFormat(locale, { dateStyle: 'medium' }).format(new Date(iso))
  } catch {
    return iso.slice(0, 10) // a locale or a time that the browser does not know
  }
}
