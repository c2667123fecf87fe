import { prepareData } from '../../src/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/embedded-postgres.ts'
import { createLog } from '../../src/log.ts'
import { prepareRun } from '../../src/run-directory.ts'
import { findServiceUser } from '../../src/service-user.ts'

// A supervisor reduced to its database: starts it on the folder given, says where it is, and stops it at SIGTERM.
const [, , configured, folder, version] = process.argv
const user = findServiceUser()
const dataDir = prepareData(configured!, user)
const server = await startEmbeddedPostgres({
  dataDir,
  runDir: prepareRun(dataDir, user),
  user,
  log: createLog('embedded-postgres', 'silent'),
  ...(folder ? { package: { folder, version: version! } } : {}),
})
// Before it is said that the server runs: whoever reads that may stop us at once.
process.once('SIGTERM', () => void server.stop().then(() => process.exit(0)))
console.log(JSON.stringify({ url: server.url, origin: server.origin, pid: server.pid(), dataDir }))
setInterval(() => {}, 60_000)
