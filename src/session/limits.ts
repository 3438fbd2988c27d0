// Limits of the changes that jfluid may make to a JVM without the user's consent.

import { EX_USAGE, NeedsConsent } from '../base/errors.ts'
import type { Scheme } from '../base/scheme.ts'
import { thousands } from '../base/thousands.ts'

/**
 * Maximum expected pause of a redefinition, ms. Scheme b never exceeds this limit. Scheme adaptive exceeds the limit only if the
 * redefinition of the roots takes longer (`batchPauseMs`).
 */
export const MAX_PAUSE_MS = 125
/** Metaspace that a redefined class uses, in bytes per byte of its class file; and the limit in bytes for all redefinitions together. */
export const METASPACE_PER_CLASS_BYTE = 4
export const MAX_METASPACE_BYTES = 8 << 20
/** Bytes of metaspace that must stay free. */
export const MIN_FREE_METASPACE_BYTES = 16 << 20
/** Maximum number of methods that schemes a and b instrument. */
export const MAX_METHODS = 2_000

/** Thrown if scheme a or b was requested, or is required by an option, but would instrument too many methods. */
export class TooManyMethods extends NeedsConsent {
  static sample = () => [new TooManyMethods('b', 2000, null), new TooManyMethods('b', 2000, '--call-sites')]
  readonly exitCode = EX_USAGE
  readonly hint: string
  /**
   * @param needs  the option that requires recording the calls of all methods; null if the user named the scheme
   */
  constructor(scheme: Scheme, most: number, needs: string | null) {
    const who = needs === null ? `--scheme ${scheme}` : `${needs}, which needs --scheme ${scheme},`
    super(`${who} may give probes to more than ${thousands(most)} methods`)
    const instead =
      needs === null
        ? 'Use --scheme adaptive'
        : `Leave ${needs} out, use a root that calls less, or instrument only your packages: --include 'com.acme.**'`
    this.hint = `${instead}. Adding so many probes may stop all threads of the program for seconds, several times, and uses metaspace that is not freed; --yes does it.`
  }
}
