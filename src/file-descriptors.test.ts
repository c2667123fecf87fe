import { expect, test } from 'vitest'
import { connectionCeiling, descriptorRoom, descriptorShortage, fileDescriptorsMax, upstreamCeiling } from './file-descriptors.ts'

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             127862               127862               processes
Max open files            4096                 4096                 files     `

test.each([
  ['as many as wanted', 8_000, 20_000, 8_000],
  ['fewer, when there are not descriptors enough', 8_000, 4_096, 2_389],
  ['some, however low the limit is', 8_000, 100, 64],
  ['those that there are descriptors for, when there is no limit', 0, 4_096, 2_389],
  ['as many as wanted, where the system does not say', 8_000, undefined, 8_000],
])('an edge process holds %s', (_name, wanted, descriptors, expected) => {
  expect(connectionCeiling(wanted, descriptors)).toBe(expected)
})

test.each([
  ['what visitors leave', 992, 2_000, 496],
  ['more than there are visitors, when there are descriptors enough', 8_000, 524_288, 515_776],
  ['some, however low the limit is', 64, 100, 32],
  ['any number, where the system does not say', 8_000, undefined, Number.POSITIVE_INFINITY],
])('for upstreams an edge process has descriptors for %s', (_name, visitors, descriptors, expected) => {
  expect(upstreamCeiling(visitors, descriptors)).toBe(expected)
})

test('too few descriptors for the ceiling are told with what to do, enough are not', () => {
  expect(descriptorShortage(8_000, fileDescriptorsMax(LIMITS))).toMatch(
    /4096 files.*2389 visitors.*LimitNOFILE=12512.*NAMESAKE_EDGE_CONNECTIONS=2389/,
  )
  expect(descriptorShortage(8_000, 12_512)).toBeUndefined()
  expect(descriptorShortage(0, 1_024)).toBeUndefined()
})

test.each([
  [0, 16_384],
  [8_000, 16_384],
  [20_000, 30_512],
  [1_000_000, 262_144],
])('for %d connections there is room for %d files from the start', (connections, room) => {
  expect(descriptorRoom(connections)).toBe(room)
})

test('the limit of the running process is known', () => {
  expect(fileDescriptorsMax()).toBeGreaterThan(63)
  expect(fileDescriptorsMax('')).toBeUndefined()
})
