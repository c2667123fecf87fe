import { expect, test } from 'vitest'
import { isGrpc } from './grpc.ts'

test.each([
  ['application/grpc', true],
  ['application/grpc+proto', true],
  ['Application/gRPC; charset=utf-8', true],
  ['application/grpc-web', false],
  ['application/grpc-web+proto', false],
  ['application/grpc-web-text', false],
  ['application/json', false],
])('%s is a call of gRPC, whose end can be said in trailers: %s', (type, is) => {
  expect(isGrpc(['content-type', type])).toBe(is)
})
