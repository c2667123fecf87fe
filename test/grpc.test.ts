import { Metadata } from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EchoClient, type GrpcUpstream, type Note, startGrpcUpstream, visitGrpc } from './support/grpc.ts'
import { addVendor, eventually, localRoot, startTree, type Tree } from './support/tree.ts'

const HOSTNAME = 'api.customer.localhost'

let tree: Tree
let upstream: GrpcUpstream
let client: EchoClient

beforeAll(async () => {
  upstream = await startGrpcUpstream()
  tree = await startTree({ env: { NAMESAKE_HTTP2_ENGINE: 'own', NAMESAKE_EDGE_HOST: 'edge.localhost' } })
  const vendor = await addVendor(tree, 'shop', `http://localhost:${upstream.port}`)
  await vendor.claim(HOSTNAME)
  client = visitGrpc({ port: tree.httpsPort, hostname: HOSTNAME, ca: localRoot(tree) })
})

afterAll(async () => {
  client?.close()
  upstream?.stop()
  await tree?.stop()
})

const say = (text: string) =>
  new Promise<string>((resolve, reject) => {
    client.say({ text }, new Metadata(), { deadline: Date.now() + 15_000 }, (error, note) => (error ? reject(error) : resolve(note.text)))
  })

test('a project that says h2c has its gRPC service served under its customer’s hostname, and soon after it said so', async () => {
  await expect(say('too early')).rejects.toThrow()
  await tree.command('projects', 'update', '--slug', 'shop', '--upstream-protocol', 'h2c')
  await eventually(async () => (await say('hello')) === `hello at ${HOSTNAME}`)
  const texts: string[] = []
  for await (const { text } of client.repeat({ text: 'note', times: 3 }) as AsyncIterable<Note>) texts.push(text)
  expect(texts).toEqual(['note 0', 'note 1', 'note 2'])
})

test('a protocol that does not fit the address is refused on the command line, with what to do', async () => {
  const refused = tree.command('projects', 'update', '--slug', 'shop', '--upstream-protocol', 'h2')
  await expect(refused).rejects.toThrow(/h2 needs an https URL, and h2c an http URL: change URL and protocol together/)
})
