// Limits of sampling by thread dumps, and options that have no effect with thread dumps.

import { UsageError } from '../../base/errors.ts'
import type { RootPattern } from '../../reveal/patterns.ts'

/**
 * Thrown if debug info is requested but has no effect: thread dumps are taken at safepoints, which always have debug info, and probes need
 * no debug info.
 */
export class DebugInfoUnused extends UsageError {
  static sample = () => new DebugInfoUnused('probes take samples by bytecodes')
  readonly hint = 'Add --sampler jfr, or leave --debug-info out.'
  /** @param instead  text that follows "and" and says what jfluid does instead */
  constructor(instead: string) {
    super(`--debug-info works only with the flight recorder, and ${instead}`)
  }
}

/** Thrown if a root has parameters: a thread dump has method names, but no descriptors. */
export class StacksHaveNoParameters extends UsageError {
  static sample = () => new StacksHaveNoParameters('OrderService.place(int)', 'stacks are taken')
  readonly hint = 'Leave the parameters of the root out, or add --sampler jfr.'
  /** @param instead  a sentence that says what jfluid does instead */
  constructor(root: string, instead: string) {
    super(`root '${root}' has parameters, which thread dumps do not contain: ${instead}`)
  }
}

/**
 * Checks that the options can be used with thread dumps.
 * @param instead  a sentence that says what jfluid does instead
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
