// Writes sdk/types.ts from the API's OpenAPI document: `npm run types`.
import { writeFileSync } from 'node:fs'
import openapiTs, { astToString } from 'openapi-typescript'
import { fingerprint, readDocument } from './openapi-document.ts'

const document = await readDocument()
const described = { openapi: '3.1.1', info: { title: 'Namesake', version: '1' }, ...document }
const types = astToString(await openapiTs(JSON.stringify(described), { alphabetize: true }))
writeFileSync(
  new URL('../sdk/types.ts', import.meta.url),
  `// Generated from the OpenAPI document ${fingerprint(document)}: npm run types.\n${types}`,
)
