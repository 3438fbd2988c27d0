// jfluid report: shows a recorded profile as a page or as JSON.

import { UsageError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import { mustHaveData } from '../profile/empty.ts'
import { methodsNamed, NoSuchMethod, refuseShort } from '../profile/find-method.ts'
import { nameOf, type Profile } from '../profile/profile.ts'
import { NotOfRange } from '../profile/range.ts'
import { reportJsonPieces } from '../profile/report/json.ts'
import { type ReportOptions, type TracedMethods, terminalOptions } from '../profile/report/page.ts'
import { reportPieces } from '../profile/report.ts'
import { writePieces } from '../profile/write.ts'
import { readPart } from './read.ts'

/** `report --trace` names a call that the profile does not contain. */
export class NoSuchTracedCall extends UsageError {
  static sample = () => [
    new NoSuchTracedCall('/tmp/app.jfluid', 4, 3),
    new NoSuchTracedCall('/tmp/app.jfluid', 1, 0),
  ]
  readonly hint: string
  constructor(path: string, call: number, traced: number) {
    super(
      traced === 0
        ? `${path} contains no traced call`
        : `${path} has no traced call ${call}: it contains ${traced}`,
    )
    this.hint =
      traced === 0
        ? 'Record with --trace 3 to keep all events of the first three calls of the root.'
        : `Give a number from 1 to ${traced}.`
  }
}

/** @throws CannotReadProfile and similar errors, NoSuchMethod, ShortMethodHasNoRow, NoSuchTracedCall, NotOfRange; after the report, EmptyProfile */
export async function report(file: string, flags: Flags<'report'>): Promise<void> {
  const { profile, options } = await readForReport(file, flags)
  const pieces =
    flags.json === true
      ? reportJsonPieces(profile, options)
      : reportPieces(profile, { ...terminalOptions(process.stdout), ...options })
  await writePieces(process.stdout, pieces)
  mustHaveData('report', file, profile)
}

/** Reads the data of a report. @throws errors of `report`, except EmptyProfile */
export async function readForReport(
  file: string,
  flags: Flags<'report'>,
): Promise<{ readonly profile: Profile; readonly options: ReportOptions }> {
  const profile = await readPart(file, flags)
  const backTraces = (flags.backTraces ?? []).map((text) => tracedMethods(text, profile))
  const { trace } = flags
  if (trace !== undefined && profile.range !== undefined) throw new NotOfRange('--trace', 'traced calls are')
  const traced = profile.trace?.calls.length ?? 0
  if (trace !== undefined && (trace < 1 || trace > traced)) throw new NoSuchTracedCall(file, trace, traced)
  const options = {
    ...(trace !== undefined && { trace }),
    top: flags.top,
    threads: flags.threads === true,
    backTraces,
  }
  return { profile, options }
}

function tracedMethods(text: string, { merged, methodNames, shortMethods }: Profile): TracedMethods {
  const methods = methodsNamed(text, merged, (id) => nameOf(methodNames, id))
  if (methods.length === 0) refuseShort(text, shortMethods, 'callers')
  if (methods.length === 0) throw new NoSuchMethod(text, methodNames)
  return { text, methods }
}
