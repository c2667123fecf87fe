/** Where everything of the fleet stands, by the last part of its address; `visitors` is the run itself. */
export const PLACES = {
  ...{ visitors: 1, db1: 11, db2: 12, api1: 21, api2: 22, worker1: 31, worker2: 32 },
  ...{ edge1: 41, edge2: 42, edge3: 43, names: 51, authority: 52, upstreams: 61 },
} as const

export type Place = keyof typeof PLACES

export type Undo = () => Promise<void>

/** The machines' network. What is cut says nothing any more: no connection is refused or reset by it. */
export type Network = {
  kind: 'namespaces' | 'loopback relays'
  addressOf(place: Place): string
  /** What a command line has to begin with to run there. */
  within(place: Place): string[]
  /** The address at which one reaches a port of another. */
  way(from: Place, to: Place, port: number): Promise<{ host: string; port: number }>
  /** Ends all traffic between two, in both directions, until undone. */
  cut(from: Place, to: Place): Promise<Undo>
  /** Drops so many of 100 packets, everywhere. */
  lose(percent: number): Promise<Undo>
  /** Addresses from which strangers can come, up to their last part: `10.77.1.`. */
  strangers: string
  close(): Promise<void>
}
