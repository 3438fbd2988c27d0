// Methods with short calls: neither timed nor shown as rows of their own (scheme adaptive, `SHORT_NAME` in cct/merge-samples.ts).

import { getOrAdd } from '../base/maps.ts'
import { SHORT_CALL_NS, SHORT_NAME } from '../cct/merge-samples.ts'
import { list, number, type Read, shape, string } from './shape.ts'
import { plural, shortCount } from './text.ts'

export interface ShortMethod {
  readonly class: string
  readonly method: string
  /** Number of calls inside roots per second, while probes counted them. For overloads, that of the overload with the most calls. */
  readonly callsPerSecond: number
  /** Mean duration of a call: its share of the samples, divided by the number of calls. */
  readonly meanNs: number
}

/** Maximum number of short methods that the report names. */
const NAMED = 5

/** Returns a function that tells whether a method is in the list. */
export function namesOf(
  methods: readonly ShortMethod[] = [],
): (className: string, method: string) => boolean {
  const keys = new Set(methods.map((it) => `${it.class}.${it.method}`))
  return (className, method) => keys.has(`${className}.${method}`)
}

/** Orders the methods by their number of calls, largest first. */
export function byCalls(methods: Iterable<ShortMethod>): ShortMethod[] {
  return [...methods].sort((a, b) => b.callsPerSecond - a.callsPerSecond)
}

/** Merges the lists of several JVMs. The values of a method are those of the JVM with the most calls of it. */
export function shortTogether(lists: readonly (readonly ShortMethod[])[]): ShortMethod[] {
  const found = new Map<string, ShortMethod>()
  for (const it of byCalls(lists.flat())) getOrAdd(found, `${it.class}.${it.method}`, () => it)
  return [...found.values()]
}

/** Returns the names of the methods with the most calls, for a warning: "a.B.c, a.B.d, and 2 more". */
export function shortNames(methods: readonly ShortMethod[]): string {
  return listed(methods, (it) => `${it.class}.${it.method}`)
}

function listed(methods: readonly ShortMethod[], textOf: (it: ShortMethod) => string): string {
  const rest = methods.length - NAMED
  return `${methods.slice(0, NAMED).map(textOf).join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`
}

export function shortText(methods: readonly ShortMethod[]): string {
  const withRates = listed(
    methods,
    (it) => `${it.class}.${it.method} (${shortCount(it.callsPerSecond)} calls/s, ${it.meanNs.toFixed(0)} ns)`,
  )
  return `${plural(methods.length, 'method')} with calls below ${SHORT_CALL_NS / 1_000} µs: not timed, and shown as rows "${SHORT_NAME.method}": ${withRates}`
}

export const readShortMethods: Read<ShortMethod[]> = list(
  shape({ class: string, method: string, callsPerSecond: number, meanNs: number }),
)
