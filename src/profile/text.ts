// Formats numbers and names for a monospaced terminal. Pure functions. The width of all text is computed here, and `clean` removes
// everything that could move the cursor.

import { PRIMITIVES } from '../base/primitives.ts'
import { thousands } from '../base/thousands.ts'
import { isAllocation } from '../cct/allocation.ts'
import type { MethodName } from '../cct/tree.ts'

/**
 * Formats nanoseconds as milliseconds in at most `width` cells, with three decimals if they fit.
 * Negative time (a method shorter than the calibration error) is "~0": approximately zero.
 */
export function ms(ns: number, width = 9): string {
  if (!Number.isFinite(ns)) return '-'
  if (ns < 0) return '~0'
  if (ns === 0) return '0'
  const value = ns / 1e6
  for (let decimals = 3; decimals > 0; decimals--) {
    const text = value.toFixed(decimals)
    if (text.length <= width) return text
  }
  const whole = value.toFixed(0)
  return whole.length <= width ? whole : value.toExponential(1).replace('e+', 'e')
}

/** Time units: number of nanoseconds, and symbol. Largest first. */
const TIME_UNITS = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
] as const

/**
 * Formats a time for a column: "64 ns", "29.02 µs", "107.3 ms", "1.968 s ". Has four significant digits. Each unit has two cells, so that
 * right-aligned digits line up.
 *
 * Negative time (a method shorter than the calibration error) is "~0".
 */
export function timeCell(ns: number): string {
  if (!Number.isFinite(ns)) return '-   '
  if (ns < 0.5) return ns === 0 ? '0   ' : '~0   '
  const [text, unit] = scaledTime(ns, 999_999.5)
  return `${text} ${unit.padEnd(2)}`
}

/**
 * Returns a time in the best unit, with four significant digits, and the unit.
 *
 * @param most  values from here on are in scientific notation
 */
export function scaledTime(ns: number, most: number): readonly [text: string, unit: string] {
  const [size, unit] = TIME_UNITS.find(([each]) => ns >= 0.99995 * each) ?? [1, 'ns']
  const value = ns / size
  const digits = size === 1 || value >= 999.95 ? 0 : value >= 99.995 ? 1 : value >= 9.9995 ? 2 : 3
  return [value >= most ? value.toExponential(1).replace('e+', 'e') : value.toFixed(digits), unit]
}

/** Formats a time like `timeCell`, but without padding. */
export function timeText(ns: number): string {
  return timeCell(ns).trimEnd()
}

/** Formats a share in percent with one decimal: "100.0", "0.1", "~0". */
export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return '-'
  const share = (100 * part) / whole
  if (share < 0) return '~0'
  return share >= 999.95 ? share.toFixed(0) : share.toFixed(1)
}

/** Formats a count with thousands separators, or as "12.3M" if the full number does not fit. */
export function count(value: number, width = 13): string {
  if (!Number.isFinite(value)) return '-'
  const full = thousands(Math.round(value))
  return full.length <= width ? full : shortCount(value)
}

/** Explains an empty result. If there are gaps, the root may have been called without being recorded. */
export function nothingText(what: 'root' | 'region', gaps: number): string {
  if (gaps > 0) return `no call of a ${what} was recorded (gaps: ${count(gaps)})`
  return what === 'root' ? 'no root was called' : 'no region was executed'
}

/** Returns a number with its noun: "1 gap", "2 gaps". */
export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`
}

/** Returns "1 class" or "2 classes". */
export function classesText(number: number): string {
  return number === 1 ? '1 class' : `${count(number)} classes`
}

/** Formats a count with three significant digits: "950", "12.3k", "4.56M". */
export function shortCount(value: number): string {
  const units = ['', 'k', 'M', 'G', 'T', 'P']
  let unit = 0
  let rest = Math.abs(value)
  while (unit < units.length - 1 && rest >= 999.5) {
    rest /= 1000
    unit++
  }
  const digits = unit === 0 ? 0 : rest < 9.995 ? 2 : rest < 99.95 ? 1 : 0
  return `${value < 0 ? '-' : ''}${rest.toFixed(digits)}${units[unit]}`
}

/** Formats a duration that the user has set: "12 s" instead of "12.0 s". */
export function roundSpan(milliseconds: number): string {
  return span(milliseconds).replace('.0 s', ' s')
}

/** Formats a duration for a status line: "850 ms", "12.3 s", "3:07", "1:02:03". */
export function span(milliseconds: number): string {
  if (!Number.isFinite(milliseconds) || milliseconds < 0) return '-'
  if (milliseconds < 999.5) return `${milliseconds.toFixed(0)} ms`
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  const two = (value: number): string => value.toString().padStart(2, '0')
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/**
 * Makes text safe to print, with a known width. Control characters, escape sequences, zero-width, direction-changing and combining
 * characters are removed or replaced by "?". Emoji are also replaced, since their width differs between terminals. Names of methods and
 * threads may contain all these characters.
 */
export function clean(text: string): string {
  if (/^[ -~]*$/.test(text)) return text
  let safe = ''
  for (const character of text.normalize('NFC')) {
    if (/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/u.test(character)) safe += '?'
    else if (/[\p{Cf}\p{M}]/u.test(character)) continue
    else if (/\p{Extended_Pictographic}|\p{Regional_Indicator}|\p{Emoji_Modifier}/u.test(character)) {
      safe += character < '\u2000' ? character : '?' // © and ® are ordinary letters in a terminal
    } else if (/\p{Zs}/u.test(character)) safe += ' '
    else safe += character
  }
  return safe
}

/** Cleans a text of several lines, and keeps the line feeds. */
export function cleanLines(text: string): string {
  return text.split('\n').map(clean).join('\n')
}

/** Returns the width of cleaned text in cells. */
export function width(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let cells = 0
  for (const character of text) cells += cellsOf(character)
  return cells
}

/** Returns the width of a character: 2 cells for East Asian wide and full-width characters, else 1. */
export function cellsOf(character: string): number {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x1100) return 1
  const wide =
    code <= 0x115f ||
    (code >= 0x2e80 && code <= 0x303e) ||
    (code >= 0x3041 && code <= 0xa4cf && code !== 0x303f) ||
    (code >= 0xa960 && code <= 0xa97f) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe10 && code <= 0xfe19) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff01 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    (code >= 0x17000 && code <= 0x18cff) ||
    (code >= 0x1b000 && code <= 0x1b2ff) ||
    (code >= 0x20000 && code <= 0x3fffd)
  return wide ? 2 : 1
}

/** Truncates cleaned text to at most `cells` cells. */
export function cut(text: string, cells: number): string {
  if (text.length <= cells && width(text) <= cells) return text
  let result = ''
  let used = 0
  for (const character of text) {
    used += cellsOf(character)
    if (used > cells) break
    result += character
  }
  return result
}

/** Truncates, or pads with spaces, to exactly `cells`. */
export function pad(text: string, cells: number): string {
  const short = cut(text, cells)
  return short + ' '.repeat(Math.max(0, cells - width(short)))
}

/** Right-aligns text in `cells`. */
export function right(text: string, cells: number): string {
  return ' '.repeat(Math.max(0, cells - width(text))) + text
}

/**
 * Wraps text to lines of at most `cells`, at spaces; longer words are split.
 *
 * @param indent  begin of each line but the first
 */
export function wrap(text: string, cells: number, indent = ''): string[] {
  const lines: string[] = []
  let line = ''
  const room = (): number => (lines.length === 0 ? cells : cells - width(indent))
  const push = (it: string): void => void lines.push(lines.length === 0 ? it : indent + it)
  for (const word of text.split(' ')) {
    let rest = word
    if (line !== '' && width(line) + 1 + width(rest) > room()) {
      push(line)
      line = ''
    }
    while (width(rest) > room()) {
      const head = cut(rest, room())
      push(head)
      rest = rest.slice(head.length)
    }
    line = line === '' ? rest : `${line} ${rest}`
  }
  push(line)
  return lines
}

/** Shortens cleaned text in the middle: "OrderSer…process". */
export function shorten(text: string, cells: number, ellipsis = '…'): string {
  if (width(text) <= cells) return text
  const room = cells - width(ellipsis)
  if (room <= 0) return cut(text, cells)
  const head = cut(text, Math.floor(room / 2))
  let tail = ''
  let used = width(head)
  for (const character of [...text].reverse()) {
    used += cellsOf(character)
    if (used > room) break
    tail = character + tail
  }
  return head + ellipsis + tail
}

/** Removes the call site from a method's name. */
export function anywhere({ bci: _, line: __, ...name }: MethodName): MethodName {
  return name
}

/** Returns the call site as text: ":42", or "@17" without line numbers; '' if call sites are not recorded. */
export function placeText({ bci, line }: MethodName): string {
  if (line !== undefined) return `:${line}`
  return bci === undefined ? '' : `@${bci}`
}

/** Returns whether a row is a wait row. A wait row has no descriptor, and `class` is the class of the awaited object. */
export function isWait({ method, descriptor }: MethodName): boolean {
  return descriptor === '' && method.startsWith('(')
}

/** Returns whether a row is a value of --by: `by=/orders`. */
export function isValueName({ class: owner, method, descriptor }: MethodName): boolean {
  return owner === '' && descriptor === '' && method.startsWith('by=')
}

/** Returns `com.acme.Foo.bar`; for a wait row `(blocked on com.acme.Foo)`; for an allocated class `new com.acme.Foo`. */
export function fullName(name: MethodName): string {
  if (isAllocation(name)) return `new ${name.class}`
  if (isValueName(name)) return name.method
  if (!isWait(name)) return `${name.class}.${name.method}`
  return name.class === '' ? name.method : `${name.method.slice(0, -1)} ${name.class})`
}

function shortWait(name: MethodName, cells: number, ellipsis: string): string {
  const full = clean(fullName(name))
  if (width(full) <= cells || name.class === '') return shorten(full, cells, ellipsis)
  const begin = `${clean(name.method).slice(0, -1)} `
  const className = clean(name.class)
  const simple = className.slice(className.lastIndexOf('.') + 1)
  const bare = `${begin}${simple})`
  const inner = simple.slice(simple.lastIndexOf('$', simple.length - 2) + 1)
  const fits = width(bare) <= cells || inner.length === simple.length || /^\d/.test(inner)
  return shorten(fits ? bare : `${begin}${ellipsis}${inner})`, cells, ellipsis)
}

/** Shortens the name of an allocated class to at most `cells`. Omits the package if the name is too long. */
function shortAllocation(name: MethodName, cells: number, ellipsis: string): string {
  const full = clean(fullName(name))
  if (width(full) <= cells) return full
  return shorten(`new ${clean(name.class.slice(name.class.lastIndexOf('.') + 1))}`, cells, ellipsis)
}

/**
 * Shortens `com.acme.shop.OrderService.process` to at most `cells`. First the package is abbreviated, then the package and outer classes
 * are removed, and finally the middle is cut. The simple class name and the method name are kept longest.
 */
export function shortName(name: MethodName, cells: number, ellipsis = '…'): string {
  if (isWait(name)) return shortWait(name, cells, ellipsis)
  if (isAllocation(name)) return shortAllocation(name, cells, ellipsis)
  if (isValueName(name)) return shorten(clean(name.method), cells, ellipsis)
  const className = clean(name.class)
  const method = clean(name.method)
  const full = `${className}.${method}`
  if (width(full) <= cells) return full
  const dot = className.lastIndexOf('.')
  const simple = className.slice(dot + 1)
  if (dot > 0) {
    const initials = className
      .slice(0, dot)
      .split('.')
      .map((part) => [...part][0] ?? '')
      .join('.')
    const abbreviated = `${initials}.${simple}.${method}`
    if (width(abbreviated) <= cells) return abbreviated
  }
  const bare = `${simple}.${method}`
  if (width(bare) <= cells) return bare
  const inner = simple.slice(simple.lastIndexOf('$', simple.length - 2) + 1)
  const innermost = `${ellipsis}${inner}.${method}`
  if (inner.length < simple.length && !/^\d/.test(inner) && width(innermost) <= cells) return innermost
  return shorten(bare, cells, ellipsis)
}

/** Returns `com.acme.OrderService.process(int, String[]) : boolean`, for a line of details. */
export function signature(name: MethodName): string {
  const call = clean(fullName(name))
  const parts = /^\((.*)\)(.+)$/s.exec(clean(name.descriptor))
  if (!parts) return call
  const parameters = typesOf(parts[1]!)
  const [result] = typesOf(parts[2]!)
  const returns = result === undefined || result === 'void' ? '' : ` : ${result}`
  return `${call}(${parameters.join(', ')})${returns}`
}

/** Returns simple names of the types in a descriptor (JVMS 4.3.2). */
function typesOf(descriptor: string): string[] {
  const types: string[] = []
  for (const [, dimensions, reference, primitive] of descriptor.matchAll(
    /(\[*)(?:L([^;]*);|([BCDFIJSVZ]))/g,
  )) {
    const base =
      reference === undefined ? PRIMITIVES[primitive!]! : reference.slice(reference.lastIndexOf('/') + 1)
    types.push(base + '[]'.repeat(dimensions!.length))
  }
  return types
}

/** Formats a number of bytes with decimal units: "12.3 MB". */
export function bytesText(bytes: number): string {
  if (bytes < 10_000) return `${bytes} B`
  const [unit, size] = bytes < 1e7 ? ['kB', 1e3] : bytes < 1e10 ? ['MB', 1e6] : ['GB', 1e9]
  return `${(bytes / (size as number)).toFixed(1)} ${unit}`
}

/** Formats nanoseconds in a suitable unit with three significant digits. */
export function shortSpan(ns: number): string {
  if (ns >= 1e9) return span(ns / 1e6)
  const [value, unit] = ns >= 1e6 ? [ns / 1e6, 'ms'] : ns >= 1e3 ? [ns / 1e3, 'µs'] : [ns, 'ns']
  return `${Number(value.toPrecision(3))} ${unit}`
}
