// Targets named by the user during a session: a method, a class, or the classes of packages. Methods have the syntax of --root,
// classes the syntax of --include.

import type { MethodTarget } from './method-ids.ts'
import {
  type ClassPattern,
  matchesClass,
  matchesMethod,
  parseClassPattern,
  parseOther,
  RANK_NONE,
  type RootPattern,
  rootRank,
} from './patterns.ts'

export interface Chosen {
  /** Text as typed, trimmed. */
  readonly text: string
  /** Exactly one of the two is set. */
  readonly classes?: ClassPattern
  readonly method?: RootPattern
}

/** Names of a method; the class name is internal. */
export type Named = Pick<MethodTarget, 'className' | 'name' | 'descriptor'>

/**
 * A loaded class takes precedence over a method of another class.
 *
 * @throws BadPattern
 */
export function chosenOf(
  option: 'include' | 'exclude',
  typed: string,
  hasClass: (pattern: ClassPattern) => boolean,
): Chosen {
  const text = typed.trim()
  if (text === '' || !text.includes('(')) {
    const classes = parseClassPattern(option, text)
    if (text.includes('*') || !/[./]/.test(text) || hasClass(classes)) return { text, classes }
  }
  return { text, method: parseOther(text) }
}

export function isChosen(chosen: Chosen, { className, name, descriptor }: Named): boolean {
  if (!touches(chosen, className)) return false
  return chosen.method === undefined || matchesMethod(chosen.method, name, descriptor)
}

/** Returns whether methods of this class may match. */
export function touches({ classes, method }: Chosen, className: string): boolean {
  if (classes !== undefined) return matchesClass(classes, className)
  return method !== undefined && rootRank(method, className) !== RANK_NONE
}
