import { readFileSync } from 'node:fs'
import { ownFile } from './own-files.ts'

/** The release that runs here. Read at once: when the process has given root up, the file may be out of reach. */
export const OWN_VERSION = (JSON.parse(readFileSync(ownFile('package.json'), 'utf8')) as { version: string }).version
