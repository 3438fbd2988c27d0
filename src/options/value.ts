// Values of options. They are parsed from the command line or the configuration file, checked if they are received from another machine,
// and offered by shell completion.

import { parseDuration } from '../base/duration.ts'
import { MAX_STEPS, type ValuePath, valuePathOf } from '../base/value-path.ts'

/** Parser and checks for the values of an option. */
export interface Value<T> {
  /** Parses a text. @returns undefined if the text is not a valid value */
  parse(text: string): T | undefined
  /** Sentence that describes valid values, printed for an invalid value. */
  readonly is: string
  /** Returns whether a value that did not come from `parse` is valid. */
  holds(value: unknown): boolean
  /** Values that shell completion offers; absent if there are too many. */
  readonly choices?: readonly string[]
  /** True if only `choices` are valid and the case of letters matters. */
  readonly isExact?: true
}

/** Accepts exactly these texts. The case of letters matters. */
export function oneOf<const T extends string>(choices: readonly T[]): Value<T> {
  return {
    parse: (text) => choices.find((it) => it === text),
    is: `Allowed choices are ${choices.join(', ')}.`,
    holds: (value) => choices.some((it) => it === value),
    choices,
    isExact: true,
  }
}

/** Accepts these texts. Ignores the case of letters. */
export function oneOfAnyCase<const T extends string>(choices: readonly T[]): Value<T> {
  const { isExact: _, ...rest } = oneOf(choices)
  return { ...rest, parse: (text) => choices.find((it) => it === text.toLowerCase()) }
}

/** Accepts any text. Shell completion offers these choices. */
export function textOr(...choices: readonly string[]): Value<string> {
  return { parse: (text) => text, is: '', holds: (value) => typeof value === 'string', choices }
}

/** Accepts a main class, a part of it, or a pattern. */
export const mainClassPattern: Value<string> = {
  parse: (text) => (text.trim() === '' ? undefined : text),
  is: "Write a main class, a part of one, or a pattern such as 'com.shop.*' or 'shop-*.jar'.",
  holds: (value) => typeof value === 'string' && value.trim() !== '',
}

/** Accepts a whole number, written in digits. */
export function whole(least: number, most: number, is: string): Value<number> {
  const holds = (value: unknown): boolean =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most
  const digits = new RegExp(`^\\d{1,${`${most}`.length}}$`)
  return {
    parse: (text) => (digits.test(text) && holds(Number(text)) ? Number(text) : undefined),
    is,
    holds,
  }
}

/** Accepts a percentage, and returns it as a fraction: "0.5%" and "0.5" are 0.005. */
export function percentage(holds: (part: number) => boolean, is: string): Value<number> {
  return {
    parse: (text) => {
      const number = /^(\d{1,6}(?:\.\d{1,9})?)\s*%?$/.exec(text)?.[1]
      const part = number === undefined ? Number.NaN : Number(number) / 100
      return holds(part) ? part : undefined
    },
    is,
    holds: (value) => typeof value === 'number' && holds(value),
  }
}

/** Accepts a duration: 500ms, 10s, 2m, 1h. The value is in ms. */
export const duration: Value<number> = {
  parse: parseDuration,
  is: 'Write a number and a unit, for example 500ms, 10s, 2m or 1h; at most 576h.',
  holds: (value) => typeof value === 'number' && value > 0,
}

/** Accepts a time since the start of the recording: a duration, or 0s. The value is in ms. */
export const moment: Value<number> = {
  parse: (text) => (/^0(?:ms|s|m|h)?$/.test(text) ? 0 : parseDuration(text)),
  is: 'It is the time since the start of the recording, for example 0s, 500ms, 12s or 2m.',
  holds: (value) => typeof value === 'number' && value >= 0,
}

/** Accepts a duration, or `off`. */
export const durationOrOff: Value<number | 'off'> = {
  parse: (text) => (text === 'off' ? text : parseDuration(text)),
  is: `${duration.is} Or write off.`,
  holds: (value) => value === 'off' || duration.holds(value),
}

const NS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9 }

/** Which root calls are slow: p99, a time in ns, `threw`, or one of the former two and `threw`. */
export type SlowOption = SlowFrom | 'threw' | readonly [SlowFrom, 'threw']
type SlowFrom = 'p99' | number

/** Parses p99 or a time. */
function slowFrom(text: string): SlowFrom | undefined {
  if (text === 'p99') return text
  const match = /^(\d{1,9}(?:\.\d{1,9})?)(ns|us|µs|ms|s|m)$/.exec(text)
  const ns = match === null ? 0 : Number(match[1]) * NS[match[2]!]!
  return ns > 0 ? ns : undefined
}

const isSlowFrom = (value: unknown): boolean =>
  value === 'p99' || (typeof value === 'number' && value > 0 && Number.isFinite(value))

export const slowCalls: Value<SlowOption> = {
  parse: (given) => {
    const text = given.toLowerCase()
    if (text === 'threw') return text
    const [from, threw, ...more] = text.split(',')
    const value = slowFrom(from!)
    if (value === undefined || more.length > 0) return undefined
    return threw === undefined ? value : threw === 'threw' ? [value, threw] : undefined
  },
  is: 'It is p99, a time as 50ms, 250us or 1.5s, threw, or two of these: p99,threw.',
  holds: (value) =>
    isSlowFrom(value) ||
    value === 'threw' ||
    (Array.isArray(value) && value.length === 2 && isSlowFrom(value[0]) && value[1] === 'threw'),
}

/** Returns the threshold of slow calls, and whether calls that threw are kept, too. */
export function selectedBy(option: SlowOption): {
  readonly threshold: SlowFrom | 'threw'
  readonly threw: boolean
} {
  if (typeof option === 'object') return { threshold: option[0], threw: true }
  return { threshold: option, threw: option === 'threw' }
}

/** Accepts the path of a value (reveal/value-path.ts), and returns its text. */
function valuePath(accepts: (path: ValuePath) => boolean, starts: string): Value<string> {
  const parse = (text: string): string | undefined => {
    const path = valuePathOf(text)
    return path !== undefined && accepts(path) ? path.text : undefined
  }
  return {
    parse,
    is: `It begins with ${starts}, followed by at most ${MAX_STEPS} fields or methods without arguments: arg0.customer.id, arg1.getRequestURI().`,
    holds: (value) => typeof value === 'string' && parse(value) === value,
  }
}

/** Value of a root call, as `arg0.customer.id`. */
export const valueOfRoot = valuePath(() => true, 'arg0 (the first argument), arg1 …, this, return or thrown')

/** Value that is known when a root call begins. */
export const valueOfArguments = valuePath(
  ({ start }) => start !== 'return' && start !== 'thrown',
  'arg0 (the first argument), arg1 … or this',
)

/** Address in the syntax of -agentlib:jdwp: host and port, or only a port of this machine. */
export const debuggerAddress: Value<{ readonly host: string; readonly port: number }> = {
  parse: (text) => {
    const [, ipv6, name, digits] = /^(?:(?:\[([\da-f:.]+)\]|([^\s:[\]*]+)):)?(\d{1,5})$/i.exec(text) ?? []
    const port = Number(digits ?? 0)
    return port > 0 && port < 2 ** 16 ? { host: ipv6 ?? name ?? '127.0.0.1', port } : undefined
  },
  is: 'It is host:port, as 127.0.0.1:5005.',
  holds: () => false, // never accepted from another machine
}
