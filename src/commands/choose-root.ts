// attach without --root: samples for some seconds, then lets the user choose.

import { NoSuchProcess } from '../attach/admission.ts'
import { JfluidError } from '../base/errors.ts'
import type { SamplerName } from '../options/how-exactly.ts'
import { WHY_SAMPLING } from '../options/what-to-profile.ts'
import { wrap } from '../profile/text.ts'
import { parseRoot } from '../reveal/patterns.ts'
import type { Seen } from '../session/adaptive/choose.ts'
import type { RootCandidate } from '../session/roots/root-candidates.ts'
import { isUsableRoot, rootText } from '../session/roots/root-names.ts'
import type { AllSamples, FoundRoots } from '../session/roots/root-search.ts'
import { seenBelow } from '../session/roots/seen-below.ts'
import { searchWhy, type Why } from '../session/why/search.ts'
import { answerLines, nextLine } from '../session/why/text.ts'
import { createProgress } from '../tui/progress.ts'
import type { ChooserRow, RootChoice } from '../tui/root-choice.ts'
import { type Chosen, chooseRoot } from '../tui/root-chooser.ts'
import { costOf } from './root-list.ts'
import { say } from './say.ts'
import { signalStatus, stopSignal } from './signals.ts'
import { onScreen } from './view.ts'

/** Maximum number of methods that may never return. The list shows these methods at its end. */
const MAX_STAYING_METHODS = 10

export interface RootFound {
  /** Value for --root. */
  readonly root: string
  /** Methods seen below the root in the samples of the search; empty if there are too few samples. */
  readonly seen: readonly Seen[]
}

/**
 * Lets the user choose a root. Nothing in the JVM has changed when the promise resolves.
 *
 * @param isAdaptive  the session may use scheme adaptive: sampling then continues while the user chooses
 * @returns null if the user left without a choice; the exit status is set then
 */
export async function findRoot(
  pid: number,
  sampler: SamplerName | undefined,
  isAdaptive: boolean,
): Promise<RootFound | null> {
  const why = await searched(pid, sampler, isAdaptive)
  if ('left' in why) return leave(pid, why.left)
  const { found } = why
  try {
    if (found.hasEnded) throw new NoSuchProcess(pid, 'has ended')
    const { left, root } = await onScreen((screen) => chooseRoot(choiceOf(why), screen))
    const all = await found.finish()
    if (all.hasEnded && left === 'quit') throw new NoSuchProcess(pid, 'has ended')
    return root === null ? leave(pid, left) : { root, seen: seenAt(root, found, all) }
  } finally {
    await found.finish()
  }
}

/**
 * Searches for roots.
 *
 * @param goesOn  whether the sampling continues after the search
 * @returns the result of the search, or the signal by which the user left
 */
async function searched(
  pid: number,
  sampler: SamplerName | undefined,
  goesOn: boolean,
): Promise<Why | { readonly left: Chosen['left'] }> {
  const progress = createProgress(process.stderr)
  const stop = stopSignal()
  try {
    const why = await searchWhy(pid, {
      ...WHY_SAMPLING,
      sampler,
      onCost: (text) => progress.note(text),
      onPhase: (phase) => progress.phase(phase),
      onProgress: (text) => progress.update(text),
      stop: stop.fired,
      withNames: true,
      goesOn,
    })
    if (why === null || stop.signal !== null) {
      progress.close()
      await why?.found.finish()
      return { left: await stop.fired }
    }
    const { found } = why
    for (const line of costOf(found))
      progress.note(found.goesOn ? `${line}; sampling continues while you choose, for a minute` : line)
    return why
  } finally {
    stop.dispose()
    progress.close()
  }
}

function seenAt(
  root: string,
  { methodName, sampling }: FoundRoots,
  { snapshot, durationMs }: AllSamples,
): readonly Seen[] {
  // The flight recorder samples processor time. These samples do not show shares of the duration of calls.
  return sampling.by === 'stacks' ? seenBelow(snapshot, methodName, parseRoot(root), durationMs) : []
}

function leave(pid: number, how: Chosen['left']): null {
  say(`no root was chosen; JVM ${pid} is unchanged`)
  if (how !== 'quit') process.exitCode = signalStatus(how)
  return null
}

function choiceOf({ found, answered }: Why): RootChoice {
  const { pid, target, snapshot, candidates, names, warnings, durationMs } = found
  const row =
    (returns: boolean) =>
    ({ root, share, seen, depth, threads }: RootCandidate): ChooserRow => ({
      ...{ root, share, seen, depth, threads },
      returns,
    })
  const rows = [
    ...candidates.roots.map(row(true)),
    ...candidates.stays.slice(0, MAX_STAYING_METHODS).map(row(false)),
  ]
  const methods = new Set([...rows.map((it) => it.root), ...names.methods])
  return {
    ...{ pid, mainClass: target.mainClass, jdk: target.jdk, durationMs, warnings, snapshot, rows },
    answer: (columns) =>
      answered === null
        ? []
        : [...answerLines(answered, columns), ...wrap(nextLine(answered), columns, '   ')],
    methods: [...methods],
    classes: names.classes,
    methodName: found.methodName,
    samplesNow: found.samplesNow,
    ended: found.ended,
    rootOf: (name) => (isUsableRoot(name) ? rootText(name) : null),
    problemOf,
  }
}

function problemOf(text: string): string | null {
  try {
    parseRoot(text)
    return null
  } catch (error) {
    if (error instanceof JfluidError) return `${error.message}. ${error.hint}`
    throw error
  }
}
