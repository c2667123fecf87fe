import { chmodSync, lstatSync, renameSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { type Hostname, readClaimName } from '../hostname.ts'
import { createOnce } from '../lib/once.ts'
import type { Log } from '../log.ts'
import { createAcknowledgements, type Reached, type Vitals } from './acknowledgements.ts'
import type { CopyStatus } from './copy-status.ts'
import { within } from './deadline.ts'
import { carryLines, encodeLine, type Lines } from './lines.ts'
import {
  type Applied,
  type CertificateRequestAnswer,
  type FromFollower,
  KEYS_PER_PUSH_MAX,
  LINE_BYTES_MAX,
  type RouteAnswer,
  type ToFollower,
} from './messages.ts'
import type { ChangedKeys } from './rows.ts'

export type CopyServerParts = {
  socketPath: string
  on: {
    findRoute(hostname: Hostname): Promise<RouteAnswer>
    requestCertificate(hostname: Hostname): Promise<CertificateRequestAnswer>
    visitorCame(hostname: Hostname): void | Promise<void>
    copyDamaged?(sentence: string): void
  }
  log?: Log
}

export type CopyServer = {
  /** Tells every process which keys to look up again; call it after the batch is in the copy. */
  changed(keys: Partial<ChangedKeys>): void
  /** Tells every process to forget all it remembers, as after the whole copy was replaced. */
  reset(): void
  /** Tells every process how fresh the copy is; `reached` is where it stands with everything that was told before. */
  heartbeat(status: CopyStatus, reached?: Reached): void
  /** How far the copy and every connected process are; undefined until that is known. `edge`: the work of the edge processes, if there are any. */
  applied(): { reached: Reached | undefined; edge: Vitals | undefined }
  clients(): number
  stop(): Promise<void>
}

const SOCKET_PATH_BYTES_MAX = 107 // sockaddr_un
const QUEUE_BYTES_MAX = 8 * 1024 * 1024
const REQUESTS_PER_CLIENT_MAX = 256
const HANDLER_TIMEOUT_MS = 5_000
const LIMITS = { lineBytesMax: LINE_BYTES_MAX, queueBytesMax: QUEUE_BYTES_MAX }

/**
 * The follower's Unix socket (mode 0600): answers the api and edge processes of this machine and pushes what changed to all of them.
 * A process that does not read is disconnected once its queue holds 8 MB, and starts afresh when it comes back.
 * Rejects when it cannot listen. A socket file that a killed follower left is replaced.
 */
export async function startCopyServer(parts: CopyServerParts): Promise<CopyServer> {
  const clients = new Map<Socket, Lines>()
  const acknowledgements = createAcknowledgements<Socket>()
  const answer = createAnswers(parts.on)
  let lastStatus: CopyStatus = { lagMs: Number.MAX_SAFE_INTEGER, complete: false, asOfMs: 0 }

  const broadcast = (message: FromFollower): void => {
    const line = encodeLine(message)
    for (const lines of clients.values()) lines.send(line)
  }

  const server = createServer((socket) => {
    const lines = carryLines(
      socket,
      LIMITS,
      answer(
        (message) => lines.send(encodeLine(message)),
        ({ mark, vitals }) => acknowledgements.confirmed(socket, mark, vitals),
      ),
    )
    clients.set(socket, lines)
    acknowledgements.joined(socket)
    socket.on('error', (error) => parts.log?.debug({ reason: error.message }, 'lost a process of this machine')) // the supervisor says how it ended
    socket.on('close', () => {
      clients.delete(socket)
      acknowledgements.left(socket)
    })
    lines.send(encodeLine({ type: 'hello', status: lastStatus, mark: acknowledgements.latest() } satisfies FromFollower))
  })
  const inode = await listenAt(server, parts.socketPath)

  return {
    changed(keys) {
      for (const chunk of chunksOf(keys)) broadcast({ type: 'changed', keys: chunk })
    },
    reset: () => broadcast({ type: 'reset' }),
    heartbeat(status, reached) {
      lastStatus = status
      broadcast({ type: 'status', status, mark: reached && acknowledgements.mark(reached) })
    },
    applied: () => ({ reached: acknowledgements.reached(), edge: acknowledgements.vitals() }),
    clients: () => clients.size,
    async stop() {
      if (lstatSync(parts.socketPath, { throwIfNoEntry: false })?.ino === inode) rmSync(parts.socketPath, { force: true })
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of clients.keys()) socket.destroy()
      await closed
    },
  }
}

/** Bound under another name, closed to others, then moved: nobody ever finds the path without a listener, or one open to other users. */
async function listenAt(server: ReturnType<typeof createServer>, path: string): Promise<number> {
  const first = `${path}.new`
  if (Buffer.byteLength(first) > SOCKET_PATH_BYTES_MAX) {
    throw new Error(`the socket path ${path} is too long: at most ${SOCKET_PATH_BYTES_MAX - 4} bytes; choose a shorter run directory`)
  }
  rmSync(first, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(first, () => {
      server.off('error', reject)
      resolve()
    })
  })
  chmodSync(first, 0o600)
  renameSync(first, path)
  return lstatSync(path).ino
}

/** For each client, what handles its messages: bounded in number and time, and always answered. */
function createAnswers(on: CopyServerParts['on']) {
  const certificateRequests = createOnce<Hostname, CertificateRequestAnswer>()

  const routeAnswer = (hostname: Hostname): Promise<RouteAnswer> =>
    within(HANDLER_TIMEOUT_MS, 'a route', on.findRoute(hostname)).catch(() => ({ kind: 'unavailable' }))
  const certificateAnswer = (hostname: Hostname): Promise<CertificateRequestAnswer> =>
    certificateRequests(hostname, () => within(HANDLER_TIMEOUT_MS, 'a certificate request', on.requestCertificate(hostname))).catch(
      () => REQUEST_FAILED,
    )
  const noteVisitor = async (hostname: Hostname): Promise<void> => {
    await within(HANDLER_TIMEOUT_MS, 'a visit', Promise.resolve(on.visitorCame(hostname))).catch(() => {})
  }

  return (send: (message: FromFollower) => void, applied: (message: Applied) => void) => {
    let running = 0
    const answered = async (id: number, answer: Promise<RouteAnswer | CertificateRequestAnswer>): Promise<void> => {
      running += 1
      send({ type: 'answer', id, answer: await answer })
      running -= 1
    }
    const visited = async (hostname: Hostname): Promise<void> => {
      running += 1
      await noteVisitor(hostname)
      running -= 1
    }
    return (received: unknown): void => {
      const message = received as ToFollower
      if (message.type === 'copy-damaged') {
        on.copyDamaged?.(String(message.sentence))
        return
      }
      if (message.type === 'applied') {
        if (!Number.isSafeInteger(message.mark)) throw new Error('a mark is not a number')
        applied(message)
        return
      }
      const reading = readClaimName(String(message.hostname))
      if (reading.kind === 'invalid') throw new Error(reading.reason)
      const { hostname } = reading

      const full = running >= REQUESTS_PER_CLIENT_MAX
      switch (message.type) {
        case 'find-route':
          void answered(message.id, full ? Promise.resolve({ kind: 'unavailable' }) : routeAnswer(hostname))
          break
        case 'request-certificate':
          void answered(message.id, full ? Promise.resolve(REQUEST_FAILED) : certificateAnswer(hostname))
          break
        case 'visitor-came':
          if (!full) void visited(hostname)
          break
        default:
          throw new Error(`unknown message ${JSON.stringify(message satisfies never)}`)
      }
    }
  }
}

const REQUEST_FAILED: CertificateRequestAnswer = { kind: 'refused', reason: 'a certificate cannot be asked for at the moment' }

const KINDS = ['routes', 'certificates', 'projects', 'tokens', 'settings', 'challenges'] as const

function* chunksOf(keys: Partial<ChangedKeys>): Generator<ChangedKeys> {
  for (const kind of KINDS) {
    const all = keys[kind] ?? []
    for (let from = 0; from < all.length; from += KEYS_PER_PUSH_MAX) {
      yield { ...NO_KEYS, [kind]: all.slice(from, from + KEYS_PER_PUSH_MAX) }
    }
  }
}

const NO_KEYS: ChangedKeys = { routes: [], certificates: [], projects: [], tokens: [], settings: [], challenges: [] }
