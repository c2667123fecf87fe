import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startMailServer } from '../../test/support/mail.ts'
import { freePort } from '../../test/support/ports.ts'
import { createMailServer, tryMailServer } from './mail-server.ts'

const MAIL = { to: 'ada@vendor.test', subject: 'Hello', text: 'Hello', html: '<p>Hello</p>' }

test('a mail that was not taken tells where it was to be handed in, by which setting, and never the password', async () => {
  const port = await freePort()
  const server = createMailServer(`smtp://namesake:hunter2@127.0.0.1:${port}`, 'Namesake <namesake@vendor.test>')
  onTestFinished(() => server.close())
  await expect(server.send(MAIL, 'one')).rejects.toThrow(
    new Error(
      `the mail server 127.0.0.1:${port} (NAMESAKE_SMTP_URL) did not take a mail: nothing there accepts connections (ECONNREFUSED)`,
    ),
  )
})

test('what the server says of a mail is told as its number alone, since it may repeat the address', async () => {
  const inbox = await startMailServer()
  const server = createMailServer(inbox.smtpUrl, 'Namesake <namesake@vendor.test>')
  onTestFinished(async () => {
    server.close()
    await inbox.stop()
  })
  inbox.refuse(1, 451)
  const place = new URL(inbox.smtpUrl).host
  await expect(server.send(MAIL, 'one')).rejects.toThrow(
    new RegExp(`^the mail server ${place} \\(NAMESAKE_SMTP_URL\\) did not take a mail: EMESSAGE 451 DATA$`),
  )
})

test('a mail server is tried as far as it goes without a mail', async () => {
  const inbox = await startMailServer()
  onTestFinished(() => inbox.stop())
  expect(await tryMailServer(inbox.smtpUrl)).toEqual({ place: new URL(inbox.smtpUrl).host })
  expect(inbox.received).toEqual([])
  const nobody = `127.0.0.1:${await freePort()}`
  expect(await tryMailServer(`smtp://${nobody}`)).toEqual({
    place: nobody,
    trouble: 'nothing there accepts connections (ECONNREFUSED)',
  })
  expect(await tryMailServer('smtps://namesake:hunter2@mail.invalid')).toEqual({
    place: 'mail.invalid:465',
    trouble: expect.not.stringContaining('hunter2'),
  })
})

test('one that takes the connection and says nothing is left after seconds', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  expect(await tryMailServer(`smtp://127.0.0.1:${port}`)).toMatchObject({ trouble: 'no answer came (ETIMEDOUT)' })
})
