// What may be done to a JVM without asking.

import { EX_USAGE, NeedsConsent } from '../base/errors.ts'
import type { Scheme } from '../base/scheme.ts'
import { thousands } from '../base/thousands.ts'

/** For a redefinition, in ms: scheme b does none that is expected to take longer, adaptive only if the roots' takes long (`batchPauseMs`). */
export const LONGEST_PAUSE_MS = 125
/** What a redefined class takes of metaspace, for each byte of its class file; and how much all may take in a session, in bytes. */
export const METASPACE_A_BYTE = 4
export const MOST_METASPACE = 8 << 20
/** Of metaspace that must stay free. */
export const FREE_METASPACE = 16 << 20
/** Methods that schemes a and b give probes. */
export const MOST_METHODS = 2_000

/** Schemes a and b are asked for, or implied, where they would change much of the program. */
export class TooManyMethods extends NeedsConsent {
  static sample = () => [new TooManyMethods('b', 2000, null), new TooManyMethods('b', 2000, '--call-sites')]
  readonly exitCode = EX_USAGE
  readonly hint: string
  /**
   * @param needs  the option that needs the calls of all methods; null if the scheme was named
   */
  constructor(scheme: Scheme, most: number, needs: string | null) {
    const who =
      needs === null ? `--scheme ${scheme}` : `${needs} needs the calls of all methods: scheme ${scheme}`
    super(`${who} may give probes to more than ${thousands(most)} methods`)
    const instead =
      needs === null ? 'Take --scheme adaptive' : `Leave ${needs} out, or take a root that leads to less`
    this.hint = `That may stop all threads of the program for seconds, many times, and takes metaspace that is not given back. ${instead}; --yes does it all the same.`
  }
}
