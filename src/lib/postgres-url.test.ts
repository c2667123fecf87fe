import { expect, test } from 'vitest'
import { readPostgresUrl } from './postgres-url.ts'

test.each([
  ['postgres://u:p@db1/x', [['db1', 5432, 'postgres://u:p@db1:5432/x']]],
  [
    'postgresql://u:p%40q@db1:6000,db2/x?sslmode=verify-full',
    [
      ['db1', 6000, 'postgresql://u:p%40q@db1:6000/x?sslmode=verify-full'],
      ['db2', 5432, 'postgresql://u:p%40q@db2:5432/x?sslmode=verify-full'],
    ],
  ],
  [
    'postgres://u@[::1]:1,[fe80::1]/x',
    [
      ['::1', 1, 'postgres://u@[::1]:1/x'],
      ['fe80::1', 5432, 'postgres://u@[fe80::1]:5432/x'],
    ],
  ],
  [
    'postgres://u@/x?host=db1,db2&port=7000',
    [
      ['db1', 7000, 'postgres://u@db1:7000/x'],
      ['db2', 7000, 'postgres://u@db2:7000/x'],
    ],
  ],
  [
    'postgres://u@/x?host=db1,db2&port=1,2',
    [
      ['db1', 1, 'postgres://u@db1:1/x'],
      ['db2', 2, 'postgres://u@db2:2/x'],
    ],
  ],
  ['postgres://u@localhost/x?host=%2Frun%2Fpg', [['/run/pg', 5432, 'postgres://u@localhost:5432/x?host=%2Frun%2Fpg']]],
])('%s leads to each of its hosts', (text, expected) => {
  expect(readPostgresUrl(text).hosts.map(({ host, port, url }) => [host, port, url])).toEqual(expected)
})

test('what a session must be able to do, and the order of the hosts, are read and not passed on', () => {
  const read = readPostgresUrl('postgres://u@a,b/x?target_session_attrs=standby&load_balance_hosts=random&sslmode=require')
  expect(read).toMatchObject({ need: 'standby', shuffled: true })
  expect(read.hosts[1]!.url).toBe('postgres://u@b:5432/x?sslmode=require')
})

test.each([
  ['mysql://a/x', /not a PostgreSQL address/],
  ['postgres://a:0/x', /has the port "0"/],
  ['postgres://a:1:2,b/x', /a host that is not name/],
  ['postgres://a,b c/x', /names the host "b c"/],
  ['postgres:///x?host=a,b,c&port=1,2', /names 3 hosts and 2 ports/],
  ['postgres://a,b/x?target_session_attrs=readwrite', /target_session_attrs=readwrite, which is none of any, read-write/],
])('%s is refused with the reason', (text, reason) => {
  expect(() => readPostgresUrl(text)).toThrow(reason)
})
