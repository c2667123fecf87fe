import { Histogram, type HistogramConfiguration } from 'prom-client'

type Bounded = HistogramConfiguration<string> & { buckets: number[] }

/** A histogram without labels that can be told a duration for every request: it counts in numbers and puts the buckets together when somebody looks. */
export class DurationHistogram extends Histogram {
  readonly #settings: Bounded
  readonly #counts: Float64Array
  #sum = 0

  constructor(settings: Bounded) {
    super(settings)
    this.#settings = settings
    this.#counts = new Float64Array(settings.buckets.length + 1)
  }

  note(seconds: number): void {
    const { buckets } = this.#settings
    let bucket = 0
    while (bucket < buckets.length && seconds > buckets[bucket]!) bucket += 1
    this.#counts[bucket]! += 1
    this.#sum += seconds
  }

  /** What the registry asks for, whether it writes text or JSON. */
  async getForPromString() {
    const { name, help, buckets } = this.#settings
    let count = 0
    const values = [...buckets, '+Inf'].map((le, bucket) => {
      count += this.#counts[bucket]!
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels: {}, value: count }
    })
    const total = (metricName: string, value: number) => ({ metricName, labels: {}, sharedLabels: {}, value })
    return {
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [...values, total(`${name}_sum`, this.#sum), total(`${name}_count`, count)],
    }
  }
}
