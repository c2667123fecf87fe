import type { Counted } from './counters.ts'
import type { Held } from './figures.ts'
import { client, h2load, type Load, randomHostnames } from './load.ts'
import { HOT, NAMES_MAX, NAMES_WITH_CERTIFICATE, type Place, SOCKETS, ZONE } from './place.ts'

/** A kind of load, of which every proxy carries the same. */
export type Shape = {
  id: string
  title: string
  /** With its article: `a request`. */
  unit: string
  load: Load
  /** What of the upstream's counts tells how many units have been done. */
  counts: Counted
  /** Is it HTTP/2, and so a matter of which engine frames it? */
  http2?: true
  /** For large bodies: the peers as tuned for these, too. */
  tuned?: readonly string[]
  /** How long every proxy warms up at least, where its caches fill by chance. */
  warmUpMs?: number
  /** How long the load runs before it is read, where what a proxy's rest has cost takes longer to be there again than elsewhere. */
  rampMs?: number
  /** How many times as many rounds, where they differ more than elsewhere. */
  roundsFactor?: number
  held: readonly Held[]
}

const HANDSHAKES_AT_ONCE = 8
/** A round's ratio differs by a tenth and more from the next one's on a shared machine, and these reach their gates by less. */
const CLOSE_TO_GATES = 2
/** Key exchanges (RFC 8446 §4.2.7): the one that every proxy here knows, so that all do the same work; and what a browser of today offers. */
const ALL_KNOW = 'X25519'
const AS_BROWSERS_OFFER = 'X25519MLKEM768:X25519'
const NAMES_MET_MS = 40_000 // by then each of the 10,000 has been visited, but for one in twenty
const RUN_EVENLY_MS = 1_000 // from then on a handshake costs the same whether the proxy has rested or not
const ALL_TUNED = ['nginx-tuned', 'haproxy-tuned', 'caddy-tuned']
const SMALL: readonly Held[] = [
  { peer: 'nginx', node: { gate: 1.35, goal: 1.2 }, bun: { gate: 1.1, goal: 0.95 } },
  { peer: 'haproxy', node: { gate: 1.25, goal: 1.1 } },
  { peer: 'caddy', node: { gate: 0.45, goal: 0.4 } },
]
const FULL_HANDSHAKES: readonly Held[] = [{ peer: 'caddy', node: { gate: 1.25, goal: 1.1 }, bun: { gate: 0.8, goal: 0.7 } }]

// Some 760 bytes, as a browser sends for a page.
const BROWSER_FIELDS = [
  'user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
  'accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8',
  'accept-encoding: gzip, deflate, br, zstd',
  'accept-language: en-GB,en;q=0.9,de-DE;q=0.8,de;q=0.7',
  'cache-control: max-age=0',
  'sec-ch-ua: "Chromium";v="141", "Not?A_Brand";v="8"',
  'sec-ch-ua-mobile: ?0',
  'sec-ch-ua-platform: "Linux"',
  'sec-fetch-dest: document',
  'sec-fetch-mode: navigate',
  'sec-fetch-site: same-origin',
  'sec-fetch-user: ?1',
  'upgrade-insecure-requests: 1',
  'cookie: session=0f5c1b7e9a3d4c2f8e6b7a1d; consent=necessary%2Cstatistics; _ga=GA1.2.1203948576.1763712000; cart=8f14e45fceea167a',
]

/** Every shape that is measured by rounds of processor time. */
export function shapesOf({ filesDir, urlsFile, sessionsFile }: Place): Shape[] {
  const browser = BROWSER_FIELDS.flatMap((field) => ['-H', field])
  const requests = { unit: 'a request', counts: 'requests' } as const
  const handshakes = { unit: 'a handshake', counts: 'requests', rampMs: RUN_EVENLY_MS } as const
  const fullHandshakes = { ...handshakes, warmUpMs: NAMES_MET_MS, held: FULL_HANDSHAKES } as const
  const visits = [ZONE, String(NAMES_WITH_CERTIFICATE), String(HANDSHAKES_AT_ONCE)]
  return [
    {
      ...requests,
      id: 'http1-minimal',
      title: 'HTTP/1.1 small, minimal heads, 64 connections',
      load: h2load(HOT, '/', '--h1', '-c64'),
      roundsFactor: CLOSE_TO_GATES,
      held: SMALL,
    },
    {
      ...requests,
      id: 'http1-browser',
      title: 'HTTP/1.1 small, browser heads, 64 connections',
      load: h2load(HOT, '/', '--h1', '-c64', ...browser),
      roundsFactor: CLOSE_TO_GATES,
      held: SMALL,
    },
    {
      ...requests,
      id: 'http1-million',
      title: 'HTTP/1.1 small, a random one of a million hostnames each, 64 connections',
      load: randomHostnames(HOT, ZONE, NAMES_MAX),
      roundsFactor: CLOSE_TO_GATES,
      held: SMALL,
    },
    {
      ...requests,
      id: 'http1-16k',
      title: 'HTTP/1.1, 16 KB answers, 64 connections',
      load: h2load(HOT, '/files/16k', '--h1', '-c64'),
      held: [],
    },
    {
      ...requests,
      id: 'http1-1m',
      title: 'HTTP/1.1, 1 MB answers, 16 connections',
      load: h2load(HOT, '/files/1m', '--h1', '-c16'),
      tuned: ALL_TUNED,
      held: [{ peer: 'nginx-tuned', node: { gate: 1.1, goal: 0.9 } }],
    },
    {
      id: 'http1-upload',
      title: 'HTTP/1.1, 1 MB uploads, 16 connections',
      unit: 'an upload',
      counts: 'uploads',
      load: h2load(HOT, '/upload', '--h1', '-c16', '-d', `${filesDir}/1m`),
      tuned: ALL_TUNED,
      held: [],
    },
    {
      ...requests,
      id: 'http2-16x8',
      title: 'HTTP/2 small, 16 connections × 8 streams',
      load: h2load(HOT, '/', '-c16', '-m8'),
      http2: true,
      roundsFactor: CLOSE_TO_GATES,
      held: [{ peer: 'nginx', node: { gate: 0.9, goal: 0.75 }, bun: { gate: 0.8, goal: 0.65 } }],
    },
    {
      ...requests,
      id: 'http2-64x1',
      title: 'HTTP/2 small, 64 connections × 1 stream',
      load: h2load(HOT, '/', '-c64', '-m1'),
      http2: true,
      roundsFactor: CLOSE_TO_GATES,
      held: [{ peer: 'nginx', node: { gate: 1.3, goal: 1.15 }, bun: { gate: 1, goal: 0.9 } }],
    },
    {
      ...requests,
      id: 'http2-200-urls',
      title: 'HTTP/2 small, 200 URLs with browser heads, 16 connections × 8 streams',
      load: h2load(HOT, '/', '-c16', '-m8', ...browser, '-i', urlsFile),
      http2: true,
      held: [],
    },
    {
      ...requests,
      id: 'http2-1m',
      title: 'HTTP/2, 1 MB answers, 16 connections × 1 stream',
      load: h2load(HOT, '/files/1m', '-c16', '-m1'),
      http2: true,
      tuned: ['nginx-tuned'],
      held: [{ peer: 'nginx-tuned', node: { gate: 1.1, goal: 0.9 } }],
    },
    {
      ...fullHandshakes,
      id: 'handshake-full',
      title: 'full TLS 1.3 handshakes (X25519) and one request each, 10,000 names',
      load: client('handshakes.ts', () => [...visits, ALL_KNOW]),
      roundsFactor: 3,
    },
    {
      ...fullHandshakes,
      id: 'handshake-full-busy',
      title: 'full TLS 1.3 handshakes (X25519) and one request each, 10,000 names, from a client twice as fast',
      load: client('handshakes.ts', () => [...visits, ALL_KNOW], 'bun'),
    },
    {
      ...handshakes,
      id: 'handshake-hybrid',
      title: 'full TLS 1.3 handshakes with a client that offers X25519MLKEM768, which the other proxies do not take, 10,000 names',
      load: client('handshakes.ts', () => [...visits, AS_BROWSERS_OFFER]),
      held: [],
    },
    {
      ...handshakes,
      id: 'handshake-resumed',
      title: 'resumed TLS 1.3 handshakes (X25519) and one request each, 10,000 names',
      load: client('handshakes.ts', (proxy) => [...visits, ALL_KNOW, sessionsFile(proxy)]),
      held: [],
    },
    {
      id: 'websocket',
      title: 'WebSocket messages of 100 bytes there and back, 64 connections',
      unit: 'a message',
      counts: 'messages',
      load: client('socket-messages.ts', () => [SOCKETS, '64']),
      held: [],
    },
  ]
}
