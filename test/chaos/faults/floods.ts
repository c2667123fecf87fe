import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Fault } from '../fault.ts'
import { EDGES, HTTPS_PORT } from '../machines.ts'
import { RULES } from '../rules.ts'

const CLAIMING_MS = 8_000
const CLAIMING_LANES = 24
const STRANGERS_MS = 8_000
const STRANGERS_A_SECOND = 10_000
const SENDER = fileURLToPath(new URL('../../../bench/support/unknown-hellos.ts', import.meta.url))

/** More than anybody asked for. */
export const FLOODS: readonly Fault[] = [
  {
    name: 'a flood of claims',
    rule: RULES.unnoticed,
    async inflict({ claims, note }) {
      const acknowledged = await claims.flood(CLAIMING_LANES, CLAIMING_MS)
      note(`${Math.round(acknowledged / (CLAIMING_MS / 1_000))} a second`)
    },
  },
  {
    name: `${STRANGERS_A_SECOND.toLocaleString('en')} unknown names a second at one edge`,
    rule: RULES.unnoticed,
    async inflict({ fleet, chance, note }) {
      const { network, addressOf } = fleet
      const where = [HTTPS_PORT, STRANGERS_A_SECOND, STRANGERS_MS, addressOf(chance.of(EDGES)), network.strangers].map(String)
      // Below everything else, but not starved: the visitors are to meet the flood, not a machine without a processor.
      const { stdout } = await promisify(execFile)('nice', [
        '-n',
        '5',
        process.execPath,
        '--disable-warning=ExperimentalWarning',
        SENDER,
        ...where,
      ])
      const { sent, refused, seconds } = JSON.parse(stdout) as { sent: number; refused: number; seconds: number }
      note(
        `${Math.round(sent / seconds).toLocaleString('en')} a second sent, ${Math.round((refused / sent) * 100)} % refused with an alert`,
      )
    },
  },
]
