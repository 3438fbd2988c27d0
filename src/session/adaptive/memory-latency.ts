// Measures the memory latency of this machine. A redefinition walks all compiled methods and classes of a JVM, spread over some hundred
// MiB, so it takes longer with slow memory.
// The figures in pause.ts come from a reference machine. Pauses of Spring Boot, Kafka and Keycloak on JDK 25 were longer on other machines:
// by a factor of 2.4 to 3 with a latency of 190 ns, and of 1.1 to 1.6 with 150 ns. EXPONENT is chosen between the exponents that fit these
// two machines (1.1 and 0.3).

/** Number of 4-byte words, together 16 MiB: larger than the caches of one core. */
const WORDS = 1 << 22
const STEPS = 1 << 11
const ROUNDS = 12
/** Latency of the reference machine of pause.ts. */
const REFERENCE_LATENCY_NANOS = 75
const EXPONENT = 0.7

let known: number | null = null

/**
 * Returns the factor by which pauses are longer on this machine, from 1 to 8. The minimum is 1, since a large shared cache may hide the
 * latency. A measured pause gives a more accurate factor. The measurement takes about 25 ms, once per process.
 */
export function memorySlowness(): number {
  known ??= Math.min(Math.max((latencyNs() / REFERENCE_LATENCY_NANOS) ** EXPONENT, 1), 8)
  return known
}

/**
 * Returns the latency of dependent reads: the address of each read depends on the previous read, so prefetching has no effect. The result
 * is the minimum of several rounds, to exclude rounds that waited for a processor.
 */
function latencyNs(): number {
  const words = new Int32Array(WORDS).fill(1)
  let at = chase(words, STEPS, 0) // compiles the function before the measurement
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now()
    at = chase(words, STEPS, at)
    least = Math.min(least, ((performance.now() - begun) * 1e6) / STEPS)
  }
  return least
}

/** A linear congruential generator whose increment is read from memory. It visits all addresses in pseudo-random order. */
function chase(words: Int32Array, steps: number, from: number): number {
  let at = from
  for (let step = 0; step < steps; step++)
    at = (Math.imul(at, 1_664_525) + Math.imul(1_013_904_223, words[at]!)) & (WORDS - 1)
  return at
}
