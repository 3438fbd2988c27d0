// How long this machine waits for its memory. A redefinition walks all compiled methods and classes of a JVM, which lie anywhere in some
// hundred MiB, so it takes longer where memory does. Against the machine that pause.ts has its figures from, pauses of Spring Boot, Kafka and
// Keycloak on JDK 25 took 2.4 to 3 times as long on one that has 190 ns here, and 1.1 to 1.6 times on one that has 150: the exponent is between
// what the two would have (1.1 and 0.3).

/** 16 MiB: more than fits into the caches of one core. */
const WORDS = 1 << 22
const STEPS = 1 << 11
const ROUNDS = 12
/** Of the machine that pause.ts has its figures from. */
const USUAL_NS = 75
const EXPONENT = 0.7

let known: number | null = null

/**
 * By how much longer pauses take where memory is as slow as here: at most 8, and at least 1, as a large cache that is shared may hold all
 * that is read here. A pause that was measured says more. Takes some 25 ms, once in a process.
 */
export function memorySlowness(): number {
  known ??= Math.min(Math.max((latencyNs() / USUAL_NS) ** EXPONENT, 1), 8)
  return known
}

/** Each address depends on what was read at the one before, so nothing is read ahead. The least of some rounds: others had to wait for a processor. */
function latencyNs(): number {
  const words = new Int32Array(WORDS).fill(1)
  let at = chase(words, STEPS, 0) // compiled by then
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now()
    at = chase(words, STEPS, at)
    least = Math.min(least, ((performance.now() - begun) * 1e6) / STEPS)
  }
  return least
}

/** A linear congruential generator of which the increment is read from memory: it goes through all of it, in no order. */
function chase(words: Int32Array, steps: number, from: number): number {
  let at = from
  for (let step = 0; step < steps; step++)
    at = (Math.imul(at, 1_664_525) + Math.imul(1_013_904_223, words[at]!)) & (WORDS - 1)
  return at
}
