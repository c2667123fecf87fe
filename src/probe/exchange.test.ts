import { spawnSync } from 'node:child_process'
import dnsPacket from 'dns-packet'
import { expect, test } from 'vitest'
import { startDnsServer } from '../../test/support/dns.ts'
import { createExchange } from './exchange.ts'

const question = (name: string) => ({ name, type: 'A' as const, recurse: true, unchecked: false })

test('ten thousand queries to a silent server all end at their deadline', async () => {
  const server = await startDnsServer()
  server.behave('*', { drop: true })
  const exchange = createExchange()
  const endsAt = performance.now() + 400
  const asked = Array.from({ length: 10_000 }, (_, n) => exchange.ask(server, question(`h${n}.test`), endsAt))
  expect(new Set(await Promise.all(asked))).toEqual(new Set([undefined]))
  exchange.close()
  await server.stop()
})

test('an answer that cannot be read is none, and no other one is waited for', async () => {
  const server = await startDnsServer()
  server.set('a.test', 'A', '192.0.2.1')
  server.onQuery = (query, asker, socket) => {
    const bytes = dnsPacket.encode({ type: 'response', id: query.id!, flags: 0x0400, questions: query.questions! })
    bytes.writeUInt16BE(1, 6) // an answer, of which nothing follows
    socket.send(bytes, asker.port, asker.address)
  }
  const exchange = createExchange()
  expect(await exchange.ask(server, question('a.test'), performance.now() + 60_000)).toBeUndefined()
  exchange.close()
  await server.stop()
})

test('what was not asked is not taken for the answer, and is waited behind', async () => {
  const server = await startDnsServer()
  server.set('a.test', 'A', '192.0.2.1')
  server.onQuery = (query, asker, socket) => {
    const questions = [{ name: 'b.test', type: 'A' as const }]
    socket.send(dnsPacket.encode({ type: 'response', id: query.id!, flags: 0x0400, questions }), asker.port, asker.address)
  }
  const exchange = createExchange()
  const answer = await exchange.ask(server, question('a.test'), performance.now() + 60_000)
  expect(answer?.answers[0]?.value).toBe('192.0.2.1')
  exchange.close()
  await server.stop()
})

test('a closed exchange asks nobody, and ends what was under way', async () => {
  const server = await startDnsServer()
  server.behave('*', { drop: true })
  const exchange = createExchange()
  const underWay = exchange.ask(server, question('a.test'), performance.now() + 60_000)
  exchange.close()
  expect(await underWay).toBeUndefined()
  expect(await exchange.ask(server, question('b.test'), performance.now() + 60_000)).toBeUndefined()
  await server.stop()
})

const NO_NETWORK = process.getuid!() === 0 ? ['-n'] : ['-rn']

test.skipIf(spawnSync('unshare', [...NO_NETWORK, 'true']).status !== 0)(
  'a family to which the machine has no way is known by its first packet, which waits for nothing',
  () => {
    const code = `const { createExchange } = await import(process.env.MODULE)
      const exchange = createExchange()
      const asking = { name: 'a.test', type: 'A', recurse: false, unchecked: false }
      const reached = () => ['2001:db8::1', '192.0.2.1'].map(exchange.reaches).join()
      console.log(reached())
      await exchange.ask({ address: '2001:db8::1', port: 53 }, asking, performance.now() + 60_000)
      console.log(reached())
      exchange.close()`
    const env = { ...process.env, MODULE: new URL('exchange.ts', import.meta.url).href }
    const child = spawnSync('unshare', [...NO_NETWORK, process.execPath, '--input-type=module', '-e', code], { env, encoding: 'utf8' })
    expect(child.stdout + child.stderr).toBe('true,true\nfalse,true\n')
  },
)
