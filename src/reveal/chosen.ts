// What a user names while a session runs: a method, a class, or the classes of packages. It is read as --root reads methods, and
// --include classes.

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
  /** As it was typed, without blanks around it. */
  readonly text: string
  /** One of the two. */
  readonly classes?: ClassPattern
  readonly method?: RootPattern
}

/** Names of a method; internal that of the class. */
export type Named = Pick<MethodTarget, 'className' | 'name' | 'descriptor'>

/**
 * A class that is there is meant before a method of another.
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

/** Whether methods of this class may be among them. */
export function touches({ classes, method }: Chosen, className: string): boolean {
  if (classes !== undefined) return matchesClass(classes, className)
  return method !== undefined && rootRank(method, className) !== RANK_NONE
}
