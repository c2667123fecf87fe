import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMailServer, startMailWorker, type TestMail, textOf } from '../../test/support/mail.ts'
import { CONNECT_SIGNER, LINK_SIGNER } from '../../test/support/portal-parts.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/postgres.ts'
import { addProject, claim, EDGE_HOST } from '../../test/support/tenants.ts'
import { OPERATOR } from '../core/activity.ts'
import { createConnectLink, findConnection, mailInstructions } from '../core/connect-links.ts'
import type { DnsReport } from '../core/dns-report.ts'
import { listKeptMails } from '../core/kept-mails.ts'
import { addMailJob, type Mail } from '../core/mail-jobs.ts'
import { changeRole, inviteMember, type MemberChange, removeMember } from '../core/members.ts'
import { findProbeTarget, recordProbes } from '../core/probes.ts'
import { deleteProject, type Project } from '../core/projects.ts'
import { requestSignIn } from '../core/sign-in-links.ts'
import { createLog } from '../log.ts'
import { deliverMail } from './mail.ts'

let database: TestDatabase
let mail: TestMail
let worker: { stop(): Promise<void> }
beforeAll(async () => {
  database = await createTestDatabase()
  mail = await startMailServer()
  worker = await startMailWorker({ db: database.db, databaseUrl: database.url, smtpUrl: mail.smtpUrl })
})
afterAll(async () => {
  await worker.stop()
  await mail.stop()
  await database.drop()
})

const invitation = (to: string, more: Partial<Extract<Mail, { kind: 'invitation' }>> = {}): Mail => ({
  kind: 'invitation',
  to,
  projectName: 'Shop',
  role: 'admin',
  invitedBy: 'ada@vendor.test',
  ...more,
})

/** Jobs wait seconds between attempts; a test does not. */
async function hurry(): Promise<void> {
  await database.db.pool.query(`update graphile_worker._private_jobs set run_at = now() where locked_at is null`)
}

async function jobsLeft({ pool } = database.db): Promise<number> {
  const { rows } = await pool.query(`select count(*)::int as count from graphile_worker.jobs where task_identifier = 'mail'`)
  return rows[0].count
}

test('a sign-in mail has a text and an HTML part with the same link, and nothing from elsewhere', async () => {
  await requestSignIn(database.db, 'ada@vendor.test', 'open')
  const received = await mail.next('ada@vendor.test')
  const link = /https:\/\/portal\.namesake\.test\/sign-in\/confirm#token=[\w-]{64}/.exec(textOf(received))![0]
  const whole = received.raw.replace(/=\r?\n/g, '').replace(/=3D/g, '=')
  expect(whole).toContain(`<a href="${link}"`)
  expect(whole).toMatch(/^Subject: Sign in to Namesake\r?$/m)
  expect(whole).toMatch(/^From: Namesake <namesake@vendor\.test>\r?$/m)
  expect(whole).toMatch(/^Auto-Submitted: auto-generated\r?$/m)
  expect(whole).toContain('prefers-color-scheme: dark')
  expect(whole).not.toMatch(/<img|<link|<script|src=|url\(/i)
  expect([...whole.matchAll(/https?:\/\/[^/"\s<]+/g)].every(([origin]) => origin === 'https://portal.namesake.test')).toBe(true)
})

test('what people write stays text, in the head of a mail as in its body', async () => {
  const projectName = 'Shop"><script>alert(1)</script>\r\nBcc: eve@evil.test'
  await addMailJob(database.db, invitation('grace@vendor.test', { projectName }))
  const received = await mail.next('grace@vendor.test')
  const head = received.raw.slice(0, received.raw.search(/\r?\n\r?\n/))
  expect(received.to).toEqual(['grace@vendor.test'])
  expect(head).not.toMatch(/^bcc:/im)
  expect(received.raw.slice(received.raw.indexOf('<!doctype'))).not.toMatch(/<script/i)
})

/** The text of the mail with instructions for a hostname whose last check found this. */
async function instructionsAfter(
  to: string,
  seen: Pick<DnsReport, 'state' | 'sentence'> & Partial<Pick<DnsReport, 'found' | 'warnings'>>,
  records: DnsReport['expected'],
): Promise<string> {
  const { db } = database
  const project = await addProject(db)
  const hostname = await claim(db, project)
  const probe = await findProbeTarget(db, project, hostname)
  const report = { found: [], warnings: [], ...seen, expected: records, checkedAt: new Date().toISOString() }
  await recordProbes(db, [{ probe, report, nextProbeInS: 300 }])
  const { id } = await createConnectLink(db, project, hostname)
  await mailInstructions(db, await findConnection(db, CONNECT_SIGNER, CONNECT_SIGNER.tokenOf(id)), { to })
  return textOf(await mail.next(to)).replaceAll('\r\n', '\n')
}

test('who manages the DNS is told to add a record where there is none, and what to correct where one is wrong', async () => {
  const records = [{ name: 'shop.customer.test', type: 'CNAME' as const, value: EDGE_HOST }]
  const absent = await instructionsAfter('add@customer.test', { state: 'absent', sentence: 'Add it.' }, records)
  expect(absent).toContain('Please add this DNS record where')
  expect(absent).not.toContain('Add it.')
  const change = 'Change the CNAME record named "shop" in the DNS of customer.test from "old.example" to "edge.namesake.test".'
  const wrong = await instructionsAfter('change@customer.test', { state: 'wrong-target', sentence: change }, records)
  expect(wrong).toMatch(/^Please do this where the DNS of \S+ is managed:$/m)
  expect(wrong).toContain(`\n\n${change}\n\nIn the end this DNS record should be there`)
  expect(wrong).not.toMatch(/add this DNS record/)
  expect(wrong).toContain(`Name:  shop.customer.test\n  Type:  CNAME\n  Value: ${EDGE_HOST}`)
  const found = [{ name: 'shop.customer.test', type: 'CNAME' as const, value: 'gone.example' }]
  expect(await instructionsAfter('nowhere@customer.test', { state: 'unknown', sentence: change, found }, records)).toContain(change)
  const right = { state: 'cname-target-broken' as const, sentence: 'Nothing is to be done there.' }
  expect(await instructionsAfter('right@customer.test', right, records)).not.toContain('Please do this')
})

test('who manages the DNS is told what else is in the way, beside the record or where that is right already', async () => {
  const records = [{ name: 'shop.customer.test', type: 'CNAME' as const, value: EDGE_HOST }]
  const add = 'Add a CAA record at customer.test.'
  const warnings = [{ kind: 'caa-forbids' as const, sentence: add }]
  const absent = await instructionsAfter('caa@customer.test', { state: 'absent', sentence: '', warnings }, records)
  expect(absent).toContain(`something else is in the way:\n\n${add}\n\nPlease add this DNS record where`)
  const right = await instructionsAfter('right-but@customer.test', { state: 'verified', sentence: 'It is right.', warnings }, records)
  expect(right).toContain(
    `The record is right, but something else is in the way:\n\n${add}\n\nNothing is to be changed about this DNS record:`,
  )
  expect(right).not.toMatch(/add this DNS record|It is right/)
  const wrong = await instructionsAfter('both@customer.test', { state: 'wrong-target', sentence: 'Change it.', warnings }, records)
  expect(wrong).toContain(`\n\nChange it.\n\nSomething else is in the way as well:\n\n${add}\n\nIn the end this DNS record should be there`)
})

test('a note is marked as the words of whoever had the mail sent, line by line', async () => {
  const { db } = database
  const project = await addProject(db)
  const { id } = await createConnectLink(db, project, await claim(db, project))
  const note = 'Your mailbox is locked.\n\nConfirm it:\u2028https://evil.test/login'
  await mailInstructions(db, await findConnection(db, CONNECT_SIGNER, CONNECT_SIGNER.tokenOf(id)), { to: 'noted@customer.test', note })
  const text = textOf(await mail.next('noted@customer.test')).replaceAll('\r\n', '\n')
  const marked = '> Your mailbox is locked.\n>\n> Confirm it:\n> https://evil.test/login'
  expect(text).toContain(`\n\nWhoever had this mail sent writes:\n\n${marked}\n\n`)
})

test('an alias at a domain itself has both names that DNS providers have for it', async () => {
  const records = [{ name: 'customer.test', type: 'ALIAS' as const, value: EDGE_HOST }]
  const text = await instructionsAfter('alias@customer.test', { state: 'absent', sentence: 'Add it.' }, records)
  expect(text).toContain('Type:  ALIAS or ANAME')
})

test('a mail server that is away for a moment is tried again', async () => {
  mail.refuse(2, 451)
  await addMailJob(database.db, invitation('later@vendor.test'))
  const arrived = mail.next('later@vendor.test')
  const hurrying = setInterval(() => void hurry(), 50)
  await arrived
  clearInterval(hurrying)
})

test('a mail whose sender is refused waits for the operator to mend that', async () => {
  mail.refuse(1, 550, 'sender') // as of a server that does not send for NAMESAKE_MAIL_FROM
  await addMailJob(database.db, invitation('mended@vendor.test'))
  const arrived = mail.next('mended@vendor.test')
  const hurrying = setInterval(() => void hurry(), 50)
  await arrived
  clearInterval(hurrying)
})

test('a mail that is refused for good is not tried again', async () => {
  mail.refuse(1, 550)
  await addMailJob(database.db, invitation('refused@vendor.test'))
  await expect.poll(() => jobsLeft()).toBe(0)
  expect(mail.received.some(({ to }) => to.includes('refused@vendor.test'))).toBe(false)
})

test('no job and no error that is kept of one holds what would open a link', async () => {
  mail.refuse(1, 451)
  await requestSignIn(database.db, 'secret@vendor.test', 'open')
  const failed = async () => {
    const { rows } = await database.db.pool.query(
      'select j::text as text from graphile_worker._private_jobs j where last_error is not null',
    )
    return rows[0]?.text as string | undefined
  }
  await expect.poll(failed).toBeDefined()
  const kept = (await failed())!
  await hurry()
  const token = /#token=(\S+)/.exec(textOf(await mail.next('secret@vendor.test')))![1]!
  expect(kept).not.toContain(token.slice(22))
  expect(kept).not.toContain('#token')
})

test('a link that has expired while the mail server was away is not sent any more', async () => {
  mail.refuse(1, 451)
  await requestSignIn(database.db, 'late@vendor.test', 'open')
  await database.db.pool.query(`update sign_in_links set expires_at = now() where email = 'late@vendor.test'`)
  const hurrying = setInterval(() => void hurry(), 50)
  await expect.poll(() => jobsLeft()).toBe(0)
  clearInterval(hurrying)
  mail.refuse(0, 0)
  expect(mail.received.some(({ to }) => to.includes('late@vendor.test'))).toBe(false)
})

test('an invitation that was withdrawn before its mail goes out is not sent, and another has the role of now', async () => {
  const local = await createTestDatabase()
  const { db } = local
  const [project, deleted] = [await addProject(db), await addProject(db)]
  const by = (of: Project): MemberChange => ({ project: of, actor: OPERATOR, role: 'operator' })
  await inviteMember(db, by(project), { email: 'withdrawn@vendor.test', role: 'member' })
  await inviteMember(db, by(deleted), { email: 'homeless@vendor.test', role: 'member' })
  await inviteMember(db, by(project), { email: 'promoted@vendor.test', role: 'member' })
  await removeMember(db, by(project), 'withdrawn@vendor.test')
  await deleteProject(db, deleted)
  await changeRole(db, by(project), 'promoted@vendor.test', 'admin')
  const keeper = await startMailWorker({ db, databaseUrl: local.url })
  await expect.poll(() => jobsLeft(db)).toBe(0)
  await keeper.stop()
  const kept = await listKeptMails(db)
  await local.drop()
  expect(kept).toEqual([expect.objectContaining({ to: 'promoted@vendor.test', text: expect.stringContaining('as an admin') })])
})

test('a mail that another worker has taken over meanwhile is not sent', async () => {
  const sent: unknown[] = []
  const send = async (mail: unknown) => void sent.push(mail) as never
  const parts = {
    db: database.db,
    portalUrl: new URL('https://portal.namesake.test'),
    edgeHost: EDGE_HOST,
    edgeIps: [],
    log: createLog('test', 'fatal'),
    send,
  }
  const job = { id: '4711', createdAt: new Date(), lockedBy: 'a worker that was frozen' }
  await deliverMail({ ...parts, signer: LINK_SIGNER, connectSigner: CONNECT_SIGNER }, invitation('frozen@vendor.test'), job)
  expect(sent).toEqual([])
})

test('without a mail server the mail is kept, the last hundred', async () => {
  const local = await createTestDatabase()
  const keeper = await startMailWorker({ db: local.db, databaseUrl: local.url })
  for (let n = 0; n < 105; n += 1) await addMailJob(local.db, invitation(`n${n}@vendor.test`))
  await expect.poll(async () => (await listKeptMails(local.db)).some(({ to }) => to === 'n104@vendor.test')).toBe(true)
  await keeper.stop()
  const kept = await listKeptMails(local.db)
  await local.drop()
  expect(kept.length).toBeLessThanOrEqual(100)
  expect(kept[0]).toMatchObject({ subject: 'Invitation to Shop', text: expect.stringContaining('as an admin') })
})
