// report --trace: which of the traced calls is shown.

import { UsageError } from '../base/errors.ts'

/** `report --trace` of a call that the profile does not have. */
export class NoSuchTracedCall extends UsageError {
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
