import { expect, test } from 'vitest'
import { parseHostname } from '../hostname.ts'
import { createDnsSolver, dnsTextOf } from './dns-challenge.ts'

const challenge = { hostname: parseHostname('shop.customer.com'), token: 'token', keyAuthorization: 'token.thumbprint' }
const text = dnsTextOf(challenge.keyAuthorization)
const signal = new AbortController().signal

/** A solver whose name servers answer in turn as given, the last answer for ever. */
function solverFor(answers: (readonly string[] | undefined)[][], labels: readonly string[] = ['label']) {
  const standing = new Set<string>()
  let looks = 0
  const solver = createDnsSolver({
    labelOf: async () => labels[0],
    present: async ({ key, value }) => void standing.add(`${key} ${value}`),
    withdraw: async ({ key, value }) => void standing.delete(`${key} ${value}`),
    resolve: async () => answers[Math.min(looks++, answers.length - 1)]!,
  })
  return { solver, standing, looks: () => looks }
}

test('the text is the digest of the key authorization, 43 characters of base64url', () => {
  expect(text).toMatch(/^[\w-]{43}$/)
  expect(dnsTextOf('token.another')).not.toBe(text)
})

test('the authority is told to look once every name server that answers has the text', async () => {
  const { solver, standing, looks } = solverFor([
    [[], undefined],
    [[text], []],
    [[text, 'of the wildcard'], undefined],
  ])
  await solver.present(challenge, signal)
  expect([looks(), [...standing]]).toEqual([3, [`label ${text}`]])
  await solver.withdraw(challenge)
  expect([...standing]).toEqual([])
})

test('a hostname that nobody holds is refused, and the end of the order ends the waiting', async () => {
  await expect(solverFor([[[text]]], []).solver.present(challenge, signal)).rejects.toMatchObject({ name: 'IssueError' })
  const ended = new AbortController()
  const waiting = solverFor([[[]]]).solver.present(challenge, ended.signal)
  ended.abort()
  await expect(waiting).rejects.toMatchObject({ name: 'IssueError' })
})
