// A profile in which nothing was recorded: no row to show, export or push.

import { EX_DATAERR, JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { isSampledByJvm, type Profile } from './profile.ts'
import { isWholeJvm } from './report/page.ts'
import { nothingText } from './text.ts'

/** Returns whether a profile has no row; with regions, whether no region was executed. */
export function isEmpty({ merged, regions }: Profile): boolean {
  return regions === undefined ? merged.count === 0 : regions.every(({ count }) => count === 0)
}

/** Returns the reason why a profile is empty. */
export function whyNothing(profile: Profile): string {
  if (isWholeJvm(profile)) return 'no sample was taken'
  if (isSampledByJvm(profile)) return 'no sample was inside the root'
  return nothingText(profile.regions === undefined ? 'root' : 'region', profile.instrumentation.gaps)
}

/** A command needs data, but the profile has none. */
export class EmptyProfile extends JfluidError {
  static sample = () => [
    new EmptyProfile('push', '/tmp/app.jfluid', 'no root was called'),
    new EmptyProfile('report', '/tmp/app.jfluid', 'no sample was taken'),
  ]
  readonly exitCode = EX_DATAERR
  readonly hint: string
  constructor(action: 'export' | 'open' | 'push' | 'report', path: string, why: string) {
    super(`nothing to ${action}: ${path} is empty, because ${why}`)
    const seen =
      action === 'report' ? 'the warnings above' : `the warnings of jfluid report ${shellWord(path)}`
    this.hint = `Record again while the program does the work; ${seen} may name another cause.`
  }
}

/** @throws EmptyProfile */
export function mustHaveData(
  action: ConstructorParameters<typeof EmptyProfile>[0],
  path: string,
  profile: Profile,
): void {
  if (isEmpty(profile)) throw new EmptyProfile(action, path, whyNothing(profile))
}
