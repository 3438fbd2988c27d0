// How the weights of samples are distributed: percentiles to 6 % in a few kilobytes, and nothing allocated.

/** Buckets of a power of two. */
const PARTS = 16
const POWERS = 41

export class Weights {
  count = 0
  sum = 0
  max = 0
  readonly #buckets = new Float64Array(POWERS * PARTS)

  add(weight: number): void {
    this.count++
    this.sum += weight
    if (weight > this.max) this.max = weight
    this.#buckets[bucketOf(weight)]++
  }

  clear(): void {
    this.count = this.sum = this.max = 0
    this.#buckets.fill(0)
  }

  /** The least value that this part of the weights does not exceed: the upper end of its bucket, or the greatest. */
  percentile(part: number): number {
    let left = Math.ceil(this.count * part)
    for (let bucket = 0; bucket < this.#buckets.length; bucket++) {
      left -= this.#buckets[bucket]!
      if (left <= 0 && this.count > 0) return Math.min(this.max, upperEnd(bucket))
    }
    return this.max
  }
}

function bucketOf(weight: number): number {
  if (weight < PARTS) return Math.floor(weight)
  const power = Math.min(POWERS - 1, Math.floor(Math.log2(weight)))
  const part = Math.min(PARTS - 1, Math.floor((weight / 2 ** power - 1) * PARTS))
  return Math.min(POWERS * PARTS - 1, (power - 3) * PARTS + part)
}

function upperEnd(bucket: number): number {
  if (bucket < PARTS) return bucket
  const power = Math.floor(bucket / PARTS) + 3
  return 2 ** power * (1 + ((bucket % PARTS) + 1) / PARTS)
}
