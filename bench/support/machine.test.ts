import { expect, test } from 'vitest'
import { processorOf } from './machine.ts'

test('a processor is told by family and model, since hypervisors call several generations by one name', () => {
  const cpuinfo = 'processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nstepping\t: 1\n'
  expect(processorOf(cpuinfo)).toBe('AMD EPYC (family 25, model 1)')
})

test('a processor without them is told by what there is', () => {
  expect(processorOf('processor\t: 0\nmodel name\t: Neoverse\n')).toBe('Neoverse')
  expect(processorOf('processor\t: 0\nCPU implementer\t: 0x41\n')).toBeUndefined()
})
