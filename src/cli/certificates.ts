import { Command, InvalidArgumentError, Option } from 'commander'
import { readCertificate } from '../certs/certificate.ts'
import { findCertificate, type InventoryEntry, type InventoryItem, listCertificates } from '../core/certificate-inventory.ts'
import { importCertificate, orderInsteadOfImported } from '../core/imported-certificate.ts'
import type { OrderRecord } from '../core/order-history.ts'
import { findProject } from '../core/projects.ts'
import { type RenewalAnswer, requestRenewal } from '../core/renewal-request.ts'
import { parseClaimName } from '../hostname.ts'
import { ownCommand } from '../own-command.ts'
import { certificateKeys } from '../roles/certificate-keys.ts'
import { createImportedReader } from '../roles/imported-certificates.ts'
import { ensureOwnKeys } from '../roles/own-keys.ts'
import { daysLeft, nextStep, shownDaysLeft, shownState } from './certificate-steps.ts'
import { readPem, writePrivately } from './files.ts'
import { withInstallation } from './installation.ts'
import { printable, printableLines, shellWord, show, shownTime, styled, table } from './output.ts'

type Json = { json?: boolean }

const LISTED_DEFAULT = 100
const LISTED_MAX = 100_000
const DAYS_LEFT_LOW = 14

/** `namesake certificates list|show|renew|import|order|export` */
export function certificatesCommand(): Command {
  const certificates = new Command('certificates').description('See and manage the certificates of the whole installation')
  const command = (name: string, description: string) => certificates.command(name).description(description).option('--json', 'print JSON')
  command('list', 'List the certificates, those that run out first on top')
    .option('--project <slug>', "only this project's")
    .addOption(new Option('--state <state>', 'only in this state').choices(['pending', 'issued', 'failed']))
    .option('--limit <number>', `at most so many, up to ${LISTED_MAX}`, readLimit, LISTED_DEFAULT)
    .action(list)
  command('show', "Show a hostname's certificate, the authority's last answer and the history of its orders")
    .argument('<hostname>')
    .action(showOne)
  command('renew', 'Order a new certificate now, also when the present one is fresh').argument('<hostname>').action(renew)
  command('import', 'Serve a certificate that was obtained elsewhere; no order replaces it while it is valid')
    .requiredOption('--hostname <hostname>', 'whose certificate')
    .requiredOption('--chain <file>', "PEM: the hostname's own certificate first, then its issuers")
    .requiredOption('--key <file>', 'PEM: its private key, unencrypted')
    .option('--project <slug>', 'only if this project holds the hostname')
    .action(importOne)
  command('order', 'Order a certificate in place of an imported one, which serves until the new one is there')
    .argument('<hostname>')
    .action(orderOne)
  command('export', "Print a hostname's certificate chain, or write chain and key to files")
    .argument('<hostname>')
    .option('--chain <file>', 'write the chain there instead of printing it')
    .option('--key <file>', 'write the private key there, readable by you alone')
    .action(exportOne)
  return certificates
}

async function list({ project, state, limit, json }: Json & { project?: string; state?: string; limit: number }): Promise<void> {
  const { certificates, total } = await withInstallation(async ({ db }) => {
    if (project !== undefined) await findProject(db, project)
    return listCertificates(db, { projectSlug: project, state, limit })
  })
  const now = new Date()
  const entries = certificates.map((entry) => ({ ...entry, daysLeft: daysLeft(entry, now), nextStep: nextStep(entry, now) }))
  const rest = total - entries.length
  const more = `and ${rest} more: --limit ${total}`
  show({ json }, entries, () => {
    if (entries.length === 0) return ['There is no such certificate. A hostname has its first one when its DNS is verified.']
    const lines = entries.map((entry) => [
      entry.hostname,
      entry.projectSlug ?? '(service)',
      shownState(entry, now),
      printable(commonName(entry.issuer)),
      entry.daysLeft === null ? '-' : String(entry.daysLeft),
      printable(entry.nextStep),
    ])
    return [...table(['HOSTNAME', 'PROJECT', 'STATE', 'ISSUER', 'DAYS LEFT', 'NEXT'], lines), ...(rest > 0 ? [styled('dim', more)] : [])]
  })
  if (json && rest > 0) console.error(more)
}

async function showOne(name: string, { json }: Json): Promise<void> {
  const { sealedKey, ...item } = await withInstallation(({ db }) => findCertificate(db, parseClaimName(name)))
  const now = new Date()
  const names = item.chainPem === null ? [] : readCertificate(item.chainPem).names
  const shown = { ...item, names, daysLeft: daysLeft(item, now), nextStep: nextStep(item, now) }
  show({ json }, shown, () => readable(shown))
}

type Shown = Omit<InventoryItem, 'sealedKey'> & { names: string[]; daysLeft: number | null; nextStep: string }

function readable(shown: Shown): string[] {
  const {
    state,
    origin,
    issuer,
    serial,
    notBefore,
    notAfter,
    renewAt,
    attempts,
    lastAttemptAt,
    lastError,
    nextAttemptAt,
    renewal,
    names,
    history,
  } = shown
  const low = shown.daysLeft !== null && shown.daysLeft < DAYS_LEFT_LOW
  const line = (label: string, text: string) => `  ${label.padEnd(13)}${text}`.trimEnd()
  return [
    `${styled('bold', shown.hostname)}  ${styled(state === 'issued' ? 'green' : 'yellow', origin === 'imported' ? 'imported' : state)}  (${whose(shown)})`,
    line('Next', printable(shown.nextStep)),
    ...(issuer
      ? [
          line('Issuer', printable(issuer)),
          line('Serial', serial!),
          line('Names', names.join(', ')),
          line(
            'Valid',
            `${shownTime(notBefore)} to ${shownTime(notAfter)}, ${styled(low ? 'red' : 'green', `${shownDaysLeft(shown.daysLeft!)}`)}`,
          ),
          line('Renewal', `${origin === 'imported' || renewal!.stoppedAt ? '' : `${shownTime(renewAt)}. `}${printable(renewal!.sentence)}`),
          ...(renewal!.explanationUrl ? [line('', printable(renewal!.explanationUrl))] : []),
        ]
      : []),
    ...(state === 'issued' || shown.projectSlug === null
      ? []
      : [
          line(
            'DNS',
            `${ownCommand()} domains show ${shellWord(shown.hostname)} --project ${shown.projectSlug} names the records that it needs`,
          ),
        ]),
    line('Attempts', lastAttemptAt === null ? 'none yet' : `${attempts} since the last success, the last one ${shownTime(lastAttemptAt)}`),
    ...(lastError
      ? [
          line('Last error', printable(lastError.sentence)),
          line('Next attempt', shownTime(nextAttemptAt)),
          line('Answer', ''),
          ...printableLines(JSON.stringify(lastError.problem, null, 2))
            .split('\n')
            .map((text) => `    ${text}`),
        ]
      : []),
    ...(history.length > 0 ? [line('History', ''), ...history.map((order) => `    ${inOneLine(order)}`)] : []),
  ]
}

function inOneLine({ beganAt, outcome, renewing, serial, notAfter, error }: OrderRecord): string {
  const result = error ? `: ${printable(error.sentence)}` : notAfter ? `: serial ${serial}, until ${shownTime(notAfter)}` : ''
  return `${shownTime(beganAt)}  ${outcome}${renewing ? ' (renewal)' : ''}${result}`
}

async function renew(name: string, { json }: Json): Promise<void> {
  const hostname = parseClaimName(name)
  const answer = await withInstallation(async ({ db, announce }) => {
    const given = await requestRenewal(db, hostname)
    if (given.kind === 'refused') throw new Error(`${hostname} gets no certificate now: ${given.reason}`)
    announce(hostname)
    return given
  })
  show({ json }, { hostname, outcome: answer.kind, validUntil: answer.validUntil }, () => [
    answer.kind === 'requested'
      ? `A new certificate for ${hostname} is asked for: a worker orders it within seconds.`
      : `An order for ${hostname} is under way already; it ends within three minutes.`,
    meanwhile(answer),
    `What became of it: ${ownCommand()} certificates show ${shellWord(hostname)}`,
  ])
}

function meanwhile({ validUntil }: Exclude<RenewalAnswer, { kind: 'refused' }>): string {
  return validUntil
    ? `The present one serves until then, and stays if the order fails (valid until ${shownTime(validUntil.toISOString())}).`
    : 'There is no valid one now: visitors wait for it.'
}

async function importOne(files: Json & { hostname: string; chain: string; key: string; project?: string }): Promise<void> {
  const hostname = parseClaimName(files.hostname)
  const sent = { chain: readPem(files.chain), key: readPem(files.key) }
  const imported = await withInstallation(async ({ db, config, announce }) => {
    await ensureOwnKeys(db, config) // a key that was sealed with a wrong secret could not be served
    const project = files.project === undefined ? undefined : await findProject(db, files.project)
    const { record, warnings } = createImportedReader(config, () => new Date())(hostname, sent)
    await importCertificate(db, hostname, record, project)
    announce(hostname)
    return { ...record, warnings }
  })
  const { warnings, issuer, serial, notBefore, notAfter } = imported
  show(files, { hostname, issuer, serial, notBefore, notAfter, warnings }, () => [
    `The certificate of ${hostname} is imported, and served within a second: by ${issuer}, serial ${serial}.`,
    ...warnings.map((warning) => styled('yellow', `Mind: ${warning}.`)),
    `No order replaces it while it is valid: import the next one before ${shownTime(notAfter.toISOString())}, else one is ordered then.`,
    `To have one ordered in its place sooner: ${ownCommand()} certificates order ${shellWord(hostname)}`,
  ])
}

async function orderOne(name: string, { json }: Json): Promise<void> {
  const hostname = parseClaimName(name)
  await withInstallation(async ({ db, announce }) => {
    await orderInsteadOfImported(db, hostname)
    announce(hostname)
  })
  show({ json }, { hostname, outcome: 'requested' }, () => [
    `${hostname} is Namesake's to look after again: a worker orders a certificate within seconds, and renews it from then on.`,
    'The imported one serves until then, and stays if the order fails.',
    `What became of it: ${ownCommand()} certificates show ${shellWord(hostname)}`,
  ])
}

async function exportOne(name: string, files: Json & { chain?: string; key?: string }): Promise<void> {
  const { hostname, chainPem, keyPem } = await withInstallation(async ({ db, config }) => {
    const item = await findCertificate(db, parseClaimName(name))
    if (item.chainPem === null || item.sealedKey === null)
      throw new Error(`${item.hostname} has no certificate yet. Why: ${ownCommand()} certificates show ${shellWord(item.hostname)}`)
    const opened = files.key === undefined ? undefined : certificateKeys(config).open(item.sealedKey, item.hostname)
    return { hostname: item.hostname, chainPem: item.chainPem, keyPem: opened }
  })
  writePrivately([
    ...(files.chain === undefined ? [] : [{ path: files.chain, text: chainPem }]),
    ...(files.key === undefined ? [] : [{ path: files.key, text: keyPem! }]),
  ])
  const { serial, notAfter } = readCertificate(chainPem)
  const printed = files.chain === undefined && files.key === undefined
  const wrote = [
    ...(files.chain === undefined ? [] : [`The chain of ${hostname} is in ${files.chain}.`]),
    ...(files.key === undefined ? [] : [`Its private key is in ${files.key}, unsealed: whoever reads it can be ${hostname}.`]),
    `Serial ${serial}, valid until ${shownTime(notAfter.toISOString())}.`,
  ]
  const outcome = { hostname, serial, notAfter, chainFile: files.chain ?? null, keyFile: files.key ?? null, ...(printed && { chainPem }) }
  show(files, outcome, () => (printed ? [chainPem.trimEnd()] : wrote))
}

function whose({ projectSlug }: InventoryEntry): string {
  return projectSlug === null ? 'a host of the service itself' : `project ${projectSlug}`
}

function commonName(issuer: string | null): string {
  return issuer === null ? '-' : (/\bCN=([^,]+)/.exec(issuer)?.[1] ?? issuer)
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (/^\d+$/.test(text) && limit >= 1 && limit <= LISTED_MAX) return limit
  throw new InvalidArgumentError(`It is a number from 1 to ${LISTED_MAX}.`)
}
