import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { readConfig } from '../config.ts'
import { doubtMail } from './mailing.ts'

const PUBLIC = { NAMESAKE_EDGE_HOST: 'edge.example.com' }
const SMTP = { NAMESAKE_SMTP_URL: 'smtps://mail.example.com', NAMESAKE_MAIL_FROM: 'namesake@example.com' }

test.each([
  ['a public machine with the api', PUBLIC, ['api'], 1],
  ['a public machine with workers, which send the mail', PUBLIC, ['worker'], 1],
  ['a machine that only serves visitors', PUBLIC, ['edge', 'dns'], 0],
  ['one with a mail server', { ...PUBLIC, ...SMTP }, ['api', 'worker'], 0],
  ['a local one, whose inbox keeps the mail', {}, ['api', 'worker'], 0],
])('what mail is missing is said to %s', (_, env, roles, sentences) => {
  expect(doubtMail(readConfig(env, tmpdir()).config, roles)).toHaveLength(sentences)
})
