import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../support/api.ts'
let api: TestApi
beforeAll(async () => { api = await startTestApi() })
afterAll(async () => { await api.stop() })
test('x', async () => {
  const t = await api.addTenant()
  for (const [m, p, o] of [
    ['POST','/v1/edge/domains',{body:{hostname:'Shop.Customer.test', metadata:{a:1}}}],
    ['POST','/v1/edge/domains',{body:'{"hostname":"Shop.Customer.test", "metadata":{"2":1.0, "__proto__":{"x":1},"1":2}}'}],
    ['GET','/v1/edge/domains',{}],
    ['GET','/v1/edge/domains/shop.customer.test',{}],
    ['GET','/v1/edge/resolve?hostname=shop.customer.test',{}],
    ['HEAD','/v1/edge/resolve?hostname=shop.customer.test',{}],
    ['GET','/v1/edge/resolve',{}],
    ['GET','/v1/edge/resolve?hostname=a.b&hostname=c.d',{}],
    ['PUT','/v1/edge/domains',{}],
    ['OPTIONS','/v1/edge/domains/xx',{}],
    ['GET','/nope',{}],
    ['GET','/v1/edge/domains/%zz',{}],
    ['POST','/v1/edge/domains/shop.customer.test/check',{}],
    ['POST','/v1/edge/domains/shop.customer.test/check',{headers:{'content-type':'application/x-www-form-urlencoded','content-length':'0'}}],
    ['POST','/v1/edge/domains',{body:'x=1',headers:{'content-type':'text/plain'}}],
    ['POST','/v1/edge/domains',{body:'{"hostname":1}'}],
    ['POST','/v1/edge/domains',{body:'{"hostname":"a.b","x":1}'}],
    ['POST','/v1/edge/domains',{}],
    ['POST','/v1/edge/domains',{body:'{"hostname":"a.b","__proto__":1}'}],
    ['POST','/v1/edge/domains',{body:'{"hostname":"a.b","metadata":[]}'}],
    ['POST','/v1/edge/domains',{body:'{'}],
    ['POST','/v1/edge/domains',{body:'{"hostname":"a.b"}', headers: {'content-type':'application/json; charset=utf-8'}}],
    ['POST','/v1/edge/domains',{body:'{"hostname":"a.b"}', headers: {'content-type':'application/jsonx'}}],
    ['POST','/v1/edge/domains',{body:'{"hostname":"a.b"}', headers: {'content-type':'rubbish'}}],
    ['POST','/v1/edge/domains',{body:'{"hostname":"a.b"}', headers: {'content-type':''}}],
    ['DELETE','/v1/edge/domains/shop.customer.test',{headers:{'content-type':'application/json'}}],
    ['DELETE','/v1/edge/domains/shop.customer.test',{}],
    ['GET','/v1/edge/resolve?hostname=b\u00fccher.test',{}],
    ['GET','/healthz',{}],
    ['GET','/v1/openapi.json',{}],
  ] as const) {
    try { const a = await t.call(m, p, o as never); console.log(m, p, JSON.stringify(o), '\n   ', a.status, a.text.slice(0, 700), JSON.stringify({...a.headers, date:0, connection:0,'keep-alive':0})) } catch (e) { console.log(m, p, 'FAIL', String(e)) }
  }
  expect(1).toBe(1)
})
