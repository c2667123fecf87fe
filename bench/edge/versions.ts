import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { findBun } from '../../src/edge-runtime.ts'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

/** What is compared, a sentence: a ratio is one of two versions, and of handshakes mostly one of two TLS libraries. */
export function versionsOfAll(): string {
  const peersTls = versionIn(/OpenSSL (\S+)/, 'nginx', '-V')
  const peers = `nginx ${versionIn(/nginx\/(\S+)/, 'nginx', '-v')} and HAProxy ${versionIn(/version (\S+)/, 'haproxy', '-v')} with OpenSSL ${peersTls}`
  const bun = versionIn(/(\S+)/, findBun({ folder: PROJECT, path: process.env.PATH ?? '' }), '--version')
  const ours = `Node ${process.versions.node} with OpenSSL ${process.versions.openssl}, Bun ${bun} with BoringSSL`
  return `${peers}, Caddy ${versionIn(/v?(\S+)/, 'caddy', 'version')} with the TLS of Go; ours on ${ours}. Of handshakes a part of the ratio is these libraries'.`
}

function versionIn(pattern: RegExp, command: string, option: string): string {
  const { stdout, stderr } = spawnSync(command, [option], { encoding: 'utf8' })
  return pattern.exec(`${stdout}${stderr}`)?.[1] ?? 'of unknown version'
}
