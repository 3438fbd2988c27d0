// What dumps of threads do not know, and where they have no use.

import { UsageError } from '../../base/errors.ts'
import type { RootPattern } from '../../reveal/patterns.ts'

/** Dumps are of safepoints, where there is debug info anyway; and probes know where they are. */
export class DebugInfoUnused extends UsageError {
  static sample = () => new DebugInfoUnused('probes take samples by bytecodes')
  readonly hint = 'Add --sampler jfr, or leave --debug-info out.'
  /** @param instead  what is done, to follow "and" */
  constructor(instead: string) {
    super(`--debug-info works only with the flight recorder, and ${instead}`)
  }
}

/** A dump of threads has names of methods, and no descriptors. */
export class StacksHaveNoParameters extends UsageError {
  static sample = () => new StacksHaveNoParameters('OrderService.place(int)', 'stacks are taken')
  readonly hint = 'Leave the parameters of the root out, or add --sampler jfr.'
  /** @param instead  what is done, as a sentence */
  constructor(root: string, instead: string) {
    super(`root '${root}' has parameters, which thread dumps do not contain: ${instead}`)
  }
}

/**
 * @param instead  what is done, as a sentence
 * @throws DebugInfoUnused, StacksHaveNoParameters
 */
export function mustDoWithDumps(
  { debugInfo, roots = [] }: { readonly debugInfo?: boolean; readonly roots?: readonly RootPattern[] },
  instead: string,
): void {
  if (debugInfo === true) throw new DebugInfoUnused(instead)
  const precise = roots.find(({ parameters }) => parameters !== null)
  if (precise !== undefined) throw new StacksHaveNoParameters(precise.text, instead)
}
