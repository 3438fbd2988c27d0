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
  /** Text that the user typed, without blanks at its start and end. */
  readonly text: string
  /** Pattern of the classes. Exactly one of `classes` and `method` is set. */
  readonly classes?: ClassPattern
  readonly method?: RootPattern
}

/** Class name, name and descriptor of a method. The class name is internal. */
export type Named = Pick<MethodTarget, 'className' | 'name' | 'descriptor'>

/**
 * Parses a target. If the text can mean a loaded class or a method, it means the class.
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

/** Returns whether the target may select methods of this class. */
export function touches({ classes, method }: Chosen, className: string): boolean {
  if (classes !== undefined) return matchesClass(classes, className)
  return method !== undefined && rootRank(method, className) !== RANK_NONE
}
