import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fingerprint, readDocument } from '../tools/openapi-document.ts'

test('the types were generated from the OpenAPI document as it is now (else: npm run types)', async () => {
  const [head] = readFileSync(new URL('./types.ts', import.meta.url), 'utf8').split('\n')
  expect(head).toContain(fingerprint(await readDocument()))
})
