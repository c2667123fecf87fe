import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { startTestApi } from '../../test/support/api.ts'

test('an open page keeps no process from ending: its stream ends, and so does one that comes meanwhile', async () => {
  const api = await startTestApi()
  onTestFinished(api.stop)
  const tenant = await api.addTenant()
  await tenant.call('POST', '/v1/edge/domains', { body: { hostname: 'shop.customer.com' } })
  const { url } = (await tenant.call('POST', '/v1/edge/domains/shop.customer.com/link')).json<{ url: string }>()
  const kept = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async (path: string, agent?: Agent) => {
    const headers = { authorization: `Connect ${url.split('#')[1]}` }
    const [response] = (await once(get(`${api.url}${path}`, { headers, agent }), 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(200)
    return response
  }
  const open = await ask('/v1/connect/events')
  await text(await ask('/v1/connect', kept))

  const left = api.leave()
  const late = await ask('/v1/connect/events', kept)
  const retry = expect.stringMatching(/^retry: \d+\n\n/)
  expect(await Promise.all([text(open), text(late)])).toEqual([retry, retry])
  await left
})

const HALF_BODY = 'POST /v1/auth/request-magic-link HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{'

test('nor does a request of which half has come, or a connection that says nothing', async () => {
  const api = await startTestApi()
  onTestFinished(api.stop)
  const answers = ['GET /healthz HTTP/1.1\r\nHost: a', HALF_BODY, ''].map(async (sent) => {
    const socket = connect(api.port, '127.0.0.1')
    socket.write(sent)
    return (await text(socket)).split('\r\n')[0]
  })
  await api.call('GET', '/healthz') // by then the server has met them
  await api.leave()
  const refused = 'HTTP/1.1 408 Request Timeout'
  expect(await Promise.all(answers)).toEqual([refused, refused, ''])
})
