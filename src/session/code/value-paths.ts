// Paths of the values that a session reads (--show, --by), and their numbers in the target.

import { MAX_SHOWS, parseValuePath, type ValuePath, type ValueStart } from '../../base/value-path.ts'
import type { SessionRequest } from '../session-options.ts'

/** Index of the path of --by; lower indices are paths of --show. */
export const BY = MAX_SHOWS

type Asked = Pick<SessionRequest, 'show' | 'by' | 'callGetters'>

export interface Path extends ValuePath {
  /** Option as the user wrote it, for messages. */
  readonly option: string
  /** Index in the messages to the agent. */
  readonly index: number
}

/** Returns the paths that a session reads. */
export function pathsOf({ show = [], by }: Asked): Path[] {
  const shown = show.map((text, index) => ({ ...parseValuePath(text), option: `--show ${text}`, index }))
  return by === undefined ? shown : [...shown, { ...parseValuePath(by), option: `--by ${by}`, index: BY }]
}

/** Returns the objects and primitives from which paths start, without repetition. The index of an entry is its number in the target. */
export function valueStartsOf(asked: Asked): ValueStart[] {
  return [...new Set(pathsOf(asked).map(({ start }) => start))]
}

/** Returns whether a session reads values of root calls. */
export function readsValues({ show = [], by }: Asked): boolean {
  return show.length > 0 || by !== undefined
}
