// Finds the lines of a source file that belong to a method.

import type { MethodLines } from '../cct/line-samples.ts'
import type { MethodName } from '../cct/tree.ts'

/** Place of a method's code, according to its class file. */
export interface MethodPlace {
  /** Name of the source file; null if the class file does not name it. */
  readonly file: string | null
  /** First and last line with code; null if the class was compiled without line numbers. */
  readonly lines: LineRange | null
}

export interface LineRange {
  readonly from: number
  readonly to: number
}

/** Lines of a method. */
export interface MethodRange extends LineRange {
  /** Source of the range. With `declaration`, only the first line is known, and `to` is a guess. */
  readonly by: 'class' | 'samples' | 'declaration'
}

/** Number of lines to show below a declaration if the last line of the method is not known. */
const LINES_BELOW_DECLARATION = 40

/**
 * Returns the lines of a method. Their source is the class file, otherwise the sampled lines, extended upwards to the declaration,
 * otherwise the declaration alone. Null if the source text has no declaration of the method either.
 */
export function rangeOf(
  name: MethodName,
  place: MethodPlace | null,
  samples: MethodLines | undefined,
  source: readonly string[] | null,
): MethodRange | null {
  if (place?.lines != null) return { ...place.lines, by: 'class' }
  const [first, last] = [samples?.lines[0]?.line, samples?.lines.at(-1)?.line]
  const declared = source === null ? null : declaration(source, name, first)
  if (first !== undefined && last !== undefined) return { from: declared ?? first, to: last, by: 'samples' }
  return declared === null
    ? null
    : { from: declared, to: declared + LINES_BELOW_DECLARATION, by: 'declaration' }
}

/**
 * Returns the line of a method's declaration: the nearest declaration up to `last`, otherwise the first declaration. Null if there is none.
 */
function declaration(source: readonly string[], name: MethodName, last?: number): number | null {
  const word = declaredWord(name)
  if (word === null) return null
  // A type, a modifier or `fun` precedes a declared name; a call follows an operator, a dot, or a keyword such as `return`.
  const pattern = new RegExp(
    `^\\s*(?:(?!return\\b|new\\b|throw\\b|else\\b)[\\w@<>\\[\\],.?&]+\\s+)*${word}\\s*\\(`,
    'u',
  )
  const call = new RegExp(`^\\s*${word}\\s*\\(.*\\)\\s*;`, 'u')
  const isDeclared = (line: string | undefined) =>
    line !== undefined && pattern.test(line) && !call.test(line)
  if (last !== undefined) {
    for (let line = Math.min(last, source.length); line >= 1; line--)
      if (isDeclared(source[line - 1])) return line
    return null
  }
  const at = source.findIndex(isDeclared)
  return at < 0 ? null : at + 1
}

/** Returns the name of a method in its declaration, as text of a regular expression; null if source code does not declare it by name. */
function declaredWord({ class: owner, method }: MethodName): string | null {
  const simple = owner.slice(Math.max(owner.lastIndexOf('.'), owner.lastIndexOf('$')) + 1)
  const word = method === '<init>' ? simple : method
  return /^[\p{L}\p{N}_$]+$/u.test(word) && !word.includes('$') ? word : null
}

/** Time since which the JVM may have the classes. A source file that was changed later may differ from them. */
export interface CodeSince {
  /** ISO 8601 */
  readonly at: string
  readonly what: 'the JVM started' | 'the recording began'
}

/** @param recordedAt  start of the recording: the best known time if the start of the JVM is unknown */
export function codeSince(jvmStartedAt: string | undefined, recordedAt: string): CodeSince {
  return jvmStartedAt === undefined
    ? { at: recordedAt, what: 'the recording began' }
    : { at: jvmStartedAt, what: 'the JVM started' }
}

/** Reason why a source file does not match the recorded class. */
export interface Mismatch {
  readonly says: string
  /** Whether the lines certainly differ. The source text beside the shares would then be wrong. */
  readonly isCertain: boolean
}

/**
 * Compares a source file with the recorded class. Returns null if nothing shows a difference.
 * @param lastLine  last line of the method with code; 0 if unknown
 * @param since     undefined if unknown
 */
export function mismatch(
  source: { readonly path: string; readonly lines: readonly string[]; readonly changedAt: number },
  lastLine: number,
  since: CodeSince | undefined,
): Mismatch | null {
  const { path, lines, changedAt } = source
  if (lastLine > lines.length) {
    const says = `${path} has ${lines.length} lines, and the class has code on line ${lastLine}: it is another version of the source`
    return { says, isCertain: true }
  }
  if (since === undefined || changedAt <= Date.parse(since.at)) return null
  return { says: `${path} was changed after ${since.what}: lines may have moved`, isCertain: false }
}
