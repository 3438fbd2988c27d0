// --trace: which calls are kept event by event.

import { InvalidArgumentError } from 'commander'
import { EX_USAGE, JfluidError } from '../base/errors.ts'
import type { Mode } from '../profile/profile.ts'
import type { SessionRequest } from '../session/session-options.ts'

/** What it says is when each method was entered and left. */
export class TraceNeedsTimes extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Take --mode exact, with --waits to tell waiting apart, or leave --trace out.'
  constructor(mode: Mode) {
    super(`--trace says when each call began and ended, and is not for --mode ${mode}`)
  }
}

export class TraceNotWith extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Leave one of the two out.'
  constructor(option: string, why: string) {
    super(`--trace does not go with ${option}: ${why}`)
  }
}

/** `report --trace` of a call that the profile does not have. */
export class NoSuchTracedCall extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint: string
  constructor(path: string, call: number, traced: number) {
    super(
      traced === 0
        ? `${path} holds no traced call`
        : `${path} has no traced call ${call}: it holds ${traced}`,
    )
    this.hint =
      traced === 0
        ? 'Record with --trace 3 to keep the first three calls of the root, event by event.'
        : `Give a number from 1 to ${traced}.`
  }
}

export const MOST_CALLS = 1000

export function traceCount(text: string): number {
  const number = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (number >= 1 && number <= MOST_CALLS) return number
  throw new InvalidArgumentError(`It is how many calls of the root, from 1 to ${MOST_CALLS}.`)
}

/** @throws TraceNeedsTimes, TraceNotWith */
export function checkTrace({ trace, mode = 'exact', callSites }: SessionRequest): void {
  if (trace === undefined) return
  if (mode !== 'exact') throw new TraceNeedsTimes(mode)
  if (callSites) throw new TraceNotWith('--call-sites', 'a traced call is told by its method')
}
