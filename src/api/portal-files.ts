import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

export type PortalFile = { path: string; type: string; etag: string; plain: Buffer; gzip: Buffer; isHashed: boolean }

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}
const A_YEAR = 'public, max-age=31536000, immutable'
const REVALIDATE = 'no-cache'
const HTTPS_ONLY = 'max-age=31536000'
const POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}

// Where the page finds its way by itself. `/connect` shows the logo of the vendor, which is on a server of the vendor.
const PAGE = '/index.html'
const PAGE_PATHS = ['/', '/sign-in', '/sign-in/confirm', '/projects', '/projects/*', '/new-project', '/connect']
// The one file that pages of vendors load. Its name stays, so it is asked for again within the hour; a page may show the old one while it asks.
const ELEMENT = '/connect-element.js'
const ELEMENT_HEADERS = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=3600, stale-while-revalidate=86400',
}
const OTHER_POLICIES: Record<string, string> = { '/connect': `${POLICY}; img-src 'self' https:` }

/** The built portal, read whole: it is small, and whoever serves it may not be able to read the folder later. Empty when it was not built. */
export function readPortalFiles(folder: URL): PortalFile[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readPortalFile(folder, `${entry.parentPath}/${entry.name}`))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Serves the portal's files under their own names, and its page wherever the portal has a screen; `httpsOnly` has browsers come by https alone (RFC 6797). Not part of the API's description. */
export function portalFiles(app: FastifyInstance, files: readonly PortalFile[], { httpsOnly }: { httpsOnly: boolean }): void {
  for (const file of files) {
    for (const path of file.path === PAGE ? PAGE_PATHS : [file.path]) {
      app.get(path, { schema: { hide: true } }, (request, reply) => {
        reply.headers(HEADERS)
        if (httpsOnly) reply.header('strict-transport-security', HTTPS_ONLY)
        if (OTHER_POLICIES[path]) reply.header('content-security-policy', OTHER_POLICIES[path])
        return sendFile(file, request, reply)
      })
    }
  }
}

function sendFile(file: PortalFile, request: FastifyRequest, reply: FastifyReply) {
  reply.type(file.type).header('etag', file.etag).header('vary', 'accept-encoding')
  reply.header('cache-control', file.isHashed ? A_YEAR : REVALIDATE)
  if (file.path === ELEMENT) reply.headers(ELEMENT_HEADERS)
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  const isPacked = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
  return isPacked ? reply.header('content-encoding', 'gzip').send(file.gzip) : reply.send(file.plain)
}

function readPortalFile(folder: URL, name: string): PortalFile {
  const path = `/${name.slice(folder.pathname.length)}`.replace('//', '/')
  const plain = readFileSync(name)
  const type = TYPES[extname(name)] ?? 'application/octet-stream'
  const etag = `W/"${hash('sha256', plain, 'base64url').slice(0, 22)}"` // weak: the packed form has other bytes
  return { path, type, etag, plain, gzip: gzipSync(plain), isHashed: path.startsWith('/assets/') }
}
