// jfluid detach: ends a session if the client of the session hangs or is stopped, and removes the files of clients that have died.

import type { Flags } from '../options/table.ts'
import { commandJson } from '../profile/command-json.ts'
import { remainsText } from '../profile/detach-facts.ts'
import { count } from '../profile/text.ts'
import { type Dismissal, dismiss, NotGone } from '../session/doors/dismiss.ts'
import { targetOf } from './target.ts'

/** @throws NotGone after all output, if the target still contains something of jfluid */
export async function detach(
  pidText: string | undefined,
  flags: Flags<'detach'>,
  print: (text: string) => void,
): Promise<void> {
  const pid = await targetOf(pidText)
  const done = withProbes(await dismiss(pid, flags.force === true))
  print(flags.json === true ? dismissalJson(done) : dismissalText(done))
  if (done.left.length > 0) throw new NotGone(pid, done.left)
}

/** Adds the classes that still have probes to the list of remains. */
function withProbes(done: Dismissal): Dismissal {
  const kept = done.ended?.refusedClasses ?? 0
  return kept === 0
    ? done
    : { ...done, left: [...done.left, `probes in ${classes(kept)}, which are inactive`] }
}

/** Returns lines for human readers. */
export function dismissalText({ pid, ended, removed, left, unseen }: Dismissal): string {
  const remains = remainsText({ left, unseen }, (ended?.refusedClasses ?? 0) === 0)
  const lines = [
    ended === null
      ? `no jfluid session in JVM ${pid}; ${remains}`
      : `detached from ${pid} in ${Math.round(ended.ms)} ms; restored: ${classes(ended.restoredClasses)}, ${remains}`,
    ...removed.map((path) => `removed ${path}, a file of a jfluid process that has ended`),
  ]
  return `${lines.join('\n')}\n`
}

function classes(number: number): string {
  return number === 1 ? '1 class' : `${count(number)} classes`
}

export function dismissalJson({ pid, ended, removed, left, unseen }: Dismissal): string {
  return commandJson('detach', { pid, ended, removed, left, unseen })
}
