import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { ForwardedFields, ForwardedLines } from './forwarded-lines.ts'
import { createRequestIds } from './request-ids.ts'
import { SpareBuffers, smallBuffers } from './spare-buffers.ts'
import { Unsent } from './unsent.ts'

const PARTS = { said: 'Accept: */*\r\nX-\u00e9: \u00e9\r\n', chain: '192.0.2.1', loop: 'namesake' }

/** What an upstream is sent, with what stands around it in a head. */
function sentOf(fields: ForwardedFields): string {
  let sent = ''
  const socket = new Writable({
    write(chunk, _encoding, done) {
      sent += chunk.toString('latin1')
      done()
    },
  })
  const unsent = new Unsent({ small: smallBuffers, large: new SpareBuffers(32 * 1024, 1) })
  unsent.gather()
  unsent.addText('GET /')
  fields.addTo(unsent)
  unsent.addText('\r\n')
  unsent.writeTo(socket as never)
  return sent
}

test('the lines are the same whether said for the first time, again, or for another authority', () => {
  const lines = new ForwardedLines(PARTS)
  const nextId = createRequestIds()
  const authorities = [
    'a.example',
    'a.example',
    'a.example',
    'b.example:8443',
    'a.example',
    'c.example',
    'c.example',
    'a.example',
    'a.example',
  ]
  for (const [i, authority] of authorities.entries()) {
    const id = i % 3 === 2 ? 'theirs-1' : nextId()
    const fields = new ForwardedFields(lines, authority, id)
    const said = `${PARTS.said}X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: ${authority}\r\nX-Request-Id: ${id}\r\nCDN-Loop: namesake\r\n`
    expect(sentOf(fields)).toBe(`GET / HTTP/1.1\r\nHost: ${authority}\r\n${said}\r\n`)
    expect(fields.list).toEqual(said.split(/: |\r\n/).slice(0, -1))
  }
})
