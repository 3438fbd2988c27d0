// Values of options: parsed from the command line or the configuration file, validated when received from another machine,
// and offered by completion.

import { parseDuration } from '../base/duration.ts'

/** Set of values of one option. */
export interface Value<T> {
  /** @returns undefined if the text is not a valid value */
  parse(text: string): T | undefined
  /** Sentence printed for an invalid value. */
  readonly is: string
  /** Returns whether a value that did not come from `parse` is valid. */
  holds(value: unknown): boolean
  /** Values for completion, if there are only a few. */
  readonly choices?: readonly string[]
  /** No other values are valid, and the case of letters matters. */
  readonly isExact?: true
}

/** Accepts exactly these texts. Case-sensitive. */
export function oneOf<const T extends string>(choices: readonly T[]): Value<T> {
  return {
    parse: (text) => choices.find((it) => it === text),
    is: `Allowed choices are ${choices.join(', ')}.`,
    holds: (value) => choices.some((it) => it === value),
    choices,
    isExact: true,
  }
}

/** Accepts these texts, in lower or upper case. */
export function oneOfAnyCase<const T extends string>(choices: readonly T[]): Value<T> {
  const { isExact: _, ...rest } = oneOf(choices)
  return { ...rest, parse: (text) => choices.find((it) => it === text.toLowerCase()) }
}

/** Accepts any text. Completion offers these choices. */
export function textOr(...choices: readonly string[]): Value<string> {
  return { parse: (text) => text, is: '', holds: (value) => typeof value === 'string', choices }
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

/** Accepts a duration, or `off`. */
export const durationOrOff: Value<number | 'off'> = {
  parse: (text) => (text === 'off' ? text : parseDuration(text)),
  is: `${duration.is} Or write off.`,
  holds: (value) => value === 'off' || duration.holds(value),
}

const NS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9 }

/** Threshold of slow calls: p99, or a time in ns. */
export const threshold: Value<'p99' | number> = {
  parse: (text) => {
    if (text.toLowerCase() === 'p99') return 'p99'
    const match = /^(\d{1,9}(?:\.\d{1,9})?)(ns|us|µs|ms|s|m)$/.exec(text)
    const ns = match === null ? 0 : Number(match[1]) * NS[match[2]!]!
    return ns > 0 ? ns : undefined
  },
  is: 'It is p99, or a time as 50ms, 250us or 1.5s.',
  holds: (value) => value === 'p99' || (typeof value === 'number' && value > 0 && Number.isFinite(value)),
}

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
