import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Logger, run } from 'graphile-worker'
import { SMTPServer } from 'smtp-server'
import { closeDatabase, connectDatabase, type Db } from '../../src/core/db.ts'
import { deliverMail } from '../../src/jobs/mail.ts'
import { createMailServer } from '../../src/jobs/mail-server.ts'
import { createLog } from '../../src/log.ts'
import { CONNECT_SIGNER, LINK_SIGNER } from './portal-parts.ts'
import { EDGE_HOST } from './tenants.ts'

/** A mail as it came over the wire: the envelope, and the whole message. */
export type ReceivedMail = { from: string; to: string[]; raw: string }

export type TestMail = {
  smtpUrl: string
  received: ReceivedMail[]
  /** The next mail to the address that nobody has taken yet, when it comes. */
  next(to: string): Promise<ReceivedMail>
  /** So many of the next messages are turned away with this code: when they have come in, or as soon as the sender says who they are from. */
  refuse(times: number, responseCode: number, at?: 'message' | 'sender'): void
  /** The next message stands still when it has come in whole, before its answer, until it is released. It counts as received then. */
  hold(): { reached: Promise<void>; release(): void }
  stop(): Promise<void>
}

/** A real SMTP server on a free port. */
export async function startMailServer(): Promise<TestMail> {
  const received: ReceivedMail[] = []
  const taken = new Set<ReceivedMail>()
  const arrivals = new EventEmitter()
  let refusals = { times: 0, responseCode: 0, at: 'message' }
  let held: { reach(): void; released: Promise<void> } | undefined
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onMailFrom(_sender, _session, done) {
      if (refusals.times === 0 || refusals.at !== 'sender') return done()
      refusals.times -= 1
      done(Object.assign(new Error('who are you?'), { responseCode: refusals.responseCode }))
    },
    onData(stream, session, done) {
      void text(stream).then(async (raw) => {
        const holding = held
        held = undefined
        holding?.reach()
        await holding?.released
        if (refusals.times > 0 && refusals.at === 'message') {
          refusals.times -= 1
          return done(Object.assign(new Error('not now'), { responseCode: refusals.responseCode }))
        }
        const { mailFrom, rcptTo } = session.envelope
        received.push({ from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address), raw })
        done()
        arrivals.emit('mail')
      })
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    smtpUrl: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    received,
    async next(to) {
      for (;;) {
        const mail = received.find((candidate) => !taken.has(candidate) && candidate.to.includes(to))
        if (mail) {
          taken.add(mail)
          return mail
        }
        await once(arrivals, 'mail')
      }
    },
    refuse(times, responseCode, at = 'message') {
      refusals = { times, responseCode, at }
    },
    hold() {
      const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      held = { reach: reached.resolve, released: released.promise }
      return { reached: reached.promise, release: released.resolve }
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** The part of a worker that delivers mail; without `smtpUrl` it keeps it. */
export async function startMailWorker(parts: { db: Db; databaseUrl: string; smtpUrl?: string; portalUrl?: URL }) {
  const log = createLog('test-mail', 'fatal')
  const mailServer = parts.smtpUrl === undefined ? undefined : createMailServer(parts.smtpUrl, 'Namesake <namesake@vendor.test>')
  const mail = {
    db: parts.db,
    log,
    portalUrl: parts.portalUrl ?? new URL('https://portal.namesake.test'),
    edgeHost: EDGE_HOST,
    edgeIps: [],
    signer: LINK_SIGNER,
    connectSigner: CONNECT_SIGNER,
    send: mailServer?.send,
  }
  const jobDb = connectDatabase(parts.databaseUrl, { applicationName: 'mail', poolMax: 4 })
  const runner = await run({
    pgPool: jobDb.pool,
    concurrency: 2,
    pollInterval: 200,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    parsedCronItems: [],
    taskList: {
      mail: (payload, { job }) => deliverMail(mail, payload, { id: job.id, createdAt: job.created_at, lockedBy: job.locked_by }),
    },
  })
  return {
    async stop() {
      await runner.stop()
      await closeDatabase(jobDb)
      mailServer?.close()
    },
  }
}

/** The text part of a mail, decoded. A line of it may begin with two hyphens, so that the boundary alone tells where it ends. */
export function textOf({ raw }: ReceivedMail): string {
  const boundary = /boundary="([^"]+)"/i.exec(raw)![1]!
  const part = raw.split(`\r\n--${boundary}`).find((one) => /^\r\ncontent-type: text\/plain/i.test(one))!
  const beginning = part.indexOf('\r\n\r\n')
  const text = part.slice(beginning + 4)
  if (!/content-transfer-encoding: quoted-printable/i.test(part.slice(0, beginning))) return text
  const bytes = text.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** The token of the sign-in link in a mail's text. */
export function linkToken(text: string): string {
  return /\/sign-in\/confirm#token=(\S+)/.exec(text)![1]!
}
