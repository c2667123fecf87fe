import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Network, PLACES, type Place } from './network.ts'

const SUBNET = '10.77.0'
const STRANGERS = '10.77.1.'

/** One network namespace a machine, each with a veth to a bridge in the run's own, which is expected to be fresh: see lab.ts. */
export async function createNamespaces(): Promise<Network> {
  const addressOf = (place: Place) => `${SUBNET}.${PLACES[place]}`
  const within = (place: Place) => (place === 'visitors' ? [] : ['nsenter', `--net=/run/netns/${place}`, '--'])
  const inside = (place: Place, ...command: string[]) => run([...within(place), ...command])
  const places = Object.keys(PLACES) as Place[]
  let rules = 0

  await run(['ip', 'link', 'add', 'switch', 'type', 'bridge'])
  await run(['ip', 'address', 'add', `${addressOf('visitors')}/16`, 'dev', 'switch'])
  await run(['ip', 'link', 'set', 'switch', 'up'])
  await run(['ip', 'route', 'add', 'local', `${STRANGERS}0/24`, 'dev', 'lo'])
  for (const place of places.filter((one) => one !== 'visitors')) {
    await run(['ip', 'netns', 'add', place])
    await run(['ip', 'link', 'add', place, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', place])
    await run(['ip', 'link', 'set', place, 'master', 'switch', 'up'])
    await inside(place, 'ip', 'address', 'add', `${addressOf(place)}/16`, 'dev', 'eth0')
    await inside(place, 'ip', 'link', 'set', 'eth0', 'up')
    await inside(place, 'ip', 'link', 'set', 'lo', 'up')
  }

  /** A table of its own with one rule in each direction; undone by dropping it. */
  const filter = async (place: Place, incoming: string, outgoing?: string) => {
    const table = `fault${rules++}`
    const chain = (hook: string, rule: string) => `chain ${hook} { type filter hook ${hook} priority 0; ${rule}; }`
    const chains = [chain('input', incoming), ...(outgoing ? [chain('output', outgoing)] : [])]
    await inside(place, 'nft', `table inet ${table} {\n${chains.join('\n')}\n}`)
    return async () => void (await inside(place, 'nft', 'delete', 'table', 'inet', table))
  }

  return {
    kind: 'namespaces',
    addressOf,
    within,
    strangers: STRANGERS,
    way: async (_, to, port) => ({ host: addressOf(to), port }),
    cut: (from, to) => filter(from, `ip saddr ${addressOf(to)} drop`, `ip daddr ${addressOf(to)} drop`),
    async lose(percent) {
      const undo = await Promise.all(places.map((place) => filter(place, `iifname != lo numgen random mod 100 < ${percent} drop`)))
      return async () => void (await Promise.all(undo.map((one) => one())))
    },
    close: async () => {}, // they end with the run
  }
}

async function run([command, ...args]: string[]): Promise<void> {
  await promisify(execFile)(command!, args)
}
