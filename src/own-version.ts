import { readFileSync } from 'node:fs'

/** The release that runs here. Read at once: when the process has given root up, the file may be out of reach. */
export const OWN_VERSION = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version
