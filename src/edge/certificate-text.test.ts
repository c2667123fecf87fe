import { expect, test } from 'vitest'
import { createTestCa } from '../../test/support/certificates.ts'
import { heapBytes } from '../../test/support/heap.ts'
import { certificateText } from './certificate-text.ts'

test('what stands behind the certificate is kept apart, however the chain is written, and is one string for all of the same issuers', async () => {
  const ca = await createTestCa()
  const keyPem = 'key'
  const leafPem = (await ca.issue(['shop.customer.com'])).chainPem.trim()
  const issuersPem = `${ca.certPem.trim()}\n${ca.certPem.trim()}\n`
  for (const between of ['\n', '\n\n', '\r\n'])
    expect(certificateText({ chainPem: leafPem + between + issuersPem, keyPem })).toEqual({ leafPem: `${leafPem}\n`, issuersPem, keyPem })
  for (const chainPem of [leafPem, `${leafPem}\n`, `${leafPem}\n\n`, ''])
    expect(certificateText({ chainPem, keyPem })).toEqual({ leafPem: chainPem, issuersPem: '', keyPem })
})

test('ten thousand certificates of one issuer take the memory of their own parts', () => {
  const certificate = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`
  const issuersPem = certificate('i'.repeat(4_000))
  const chain = (n: number) => Buffer.from(certificate(`${n}`.padStart(1_000, '0')) + issuersPem).toString('latin1')
  const before = heapBytes()
  const kept = Array.from({ length: 10_000 }, (_, n) => certificateText({ chainPem: chain(n), keyPem: '' }))
  const perCertificate = (heapBytes() - before) / kept.length
  expect(kept.at(-1)!.leafPem).toContain('9999\n')
  expect(perCertificate).toBeLessThan(1_500)
})
