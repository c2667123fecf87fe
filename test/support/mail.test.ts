import { expect, test } from 'vitest'
import { createMailServer } from '../../src/jobs/mail-server.ts'
import { startMailServer, textOf } from './mail.ts'

test.each([
  [
    'a link whose line is broken before two hyphens',
    'http://localhost:40123/sign-in/confirm#token=Wi3BsG1fF--Bsi8IopcheDQa9bsXfBchDduiqrJ09UYWloj7JMs7rBYh',
  ],
  ['umlauts', 'Grüße aus Köln'],
  ['nothing that needs an encoding', 'plain text'],
])('the text of a mail that holds %s is read whole', async (_, said) => {
  const inbox = await startMailServer()
  const server = createMailServer(inbox.smtpUrl, 'Namesake <namesake@vendor.test>')
  const text = `Hello\n\n${said}\n\nGoodbye\n`
  await server.send({ to: 'ada@vendor.test', subject: 'Hello', text, html: '<p>Hello</p>' }, 'one')
  expect(
    textOf(await inbox.next('ada@vendor.test'))
      .trimEnd()
      .split('\r\n'),
  ).toEqual(text.trimEnd().split('\n'))
  server.close()
  await inbox.stop()
})
