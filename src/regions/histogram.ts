// Histogram of durations. Values below 512 have a bucket each; above, there are 256 buckets per power of two, so that the width of a bucket
// is at most 0.4 % of its values. The layout is that of HdrHistogram with a precision between two and three digits.

const SUB_BITS = 8
const SUB_BUCKETS = 1 << SUB_BITS
const EXACT_BELOW = 2 * SUB_BUCKETS
const TWO_32 = 2 ** 32
/** Number of buckets for values below 2^58. */
const MAX_BUCKETS = SUB_BUCKETS * (57 - SUB_BITS) + EXACT_BELOW

/** Returns the bucket of an integer from 0 to 2^58 - 1. */
export function bucketOf(value: number): number {
  if (value < EXACT_BELOW) return value
  const exponent = value < TWO_32 ? 31 - Math.clz32(value) : 63 - Math.clz32(value / TWO_32)
  const shift = exponent - SUB_BITS
  return SUB_BUCKETS * shift + Math.floor(value / 2 ** shift)
}

/** Returns the smallest value of a bucket. */
export function bucketStart(bucket: number): number {
  if (bucket < EXACT_BELOW) return bucket
  const shift = Math.floor(bucket / SUB_BUCKETS) - 1
  return (bucket - SUB_BUCKETS * shift) * 2 ** shift
}

/** Buckets that are not empty, in order. */
export interface Buckets {
  readonly bucket: Int32Array
  readonly count: Float64Array
}

export class Histogram {
  count = 0
  sum = 0
  /** Smallest value. Without values, `min` is Infinity and `max` is -Infinity. */
  min = Number.POSITIVE_INFINITY
  max = Number.NEGATIVE_INFINITY
  #counts = new Float64Array(2048)

  /** Records a value. Called once per execution of a region, so it allocates only if the value is larger than all earlier values. */
  record(value: number): void {
    const bucket = bucketOf(value)
    if (bucket >= this.#counts.length) this.#grow(bucket)
    this.#counts[bucket]++
    this.count++
    this.sum += value
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
  }

  /** Removes a recorded value. `min` and `max` may then become bounds of buckets instead of recorded values. */
  remove(value: number): void {
    const bucket = bucketOf(value)
    if (!(this.#counts[bucket]! > 0)) return
    this.#counts[bucket]!--
    this.count--
    this.sum -= value
    if (this.count === 0) this.clear()
    else if (this.#counts[bucket] === 0 && (value === this.min || value === this.max)) this.#bound()
    else if (value === this.min) this.min = bucketStart(bucket)
    else if (value === this.max) this.max = bucketStart(bucket + 1) - 1
  }

  #bound(): void {
    this.min = bucketStart(this.#counts.findIndex((it) => it > 0))
    this.max = bucketStart(this.#counts.findLastIndex((it) => it > 0) + 1) - 1
  }

  #grow(bucket: number): void {
    const counts = new Float64Array(Math.min(MAX_BUCKETS, Math.max(bucket + 1, this.#counts.length * 2)))
    counts.set(this.#counts)
    this.#counts = counts
  }

  clear(): void {
    this.#counts.fill(0)
    this.count = this.sum = 0
    this.min = Number.POSITIVE_INFINITY
    this.max = Number.NEGATIVE_INFINITY
  }

  buckets(): Buckets {
    const counts = this.#counts
    let filled = 0
    for (let i = 0; i < counts.length; i++) if (counts[i]! > 0) filled++
    const bucket = new Int32Array(filled)
    const count = new Float64Array(filled)
    let at = 0
    for (let i = 0; i < counts.length; i++) {
      if (counts[i] === 0) continue
      bucket[at] = i
      count[at++] = counts[i]!
    }
    return { bucket, count }
  }
}
