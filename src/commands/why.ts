// jfluid why: samples a JVM for some seconds, and prints in about ten lines why its requests take their time.

import { NoSuchProcess } from '../attach/admission.ts'
import { EX_NOTCALLED, JfluidError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import { WHY_SAMPLING } from '../options/what-to-profile.ts'
import { commandJson } from '../profile/command-json.ts'
import type { FoundRoots } from '../session/roots/root-search.ts'
import { searchWhy } from '../session/why/search.ts'
import { type Answered, answerLines, headLines, nextCommand, nextLine } from '../session/why/text.ts'
import { createProgress } from '../tui/progress.ts'
import { consentToDumps } from './consent.ts'
import { rootLines, rootsJson } from './root-list.ts'
import { signalStatus, stopSignal } from './signals.ts'
import { targetOf } from './target.ts'

/** No thread of the JVM worked while it was sampled. */
export class NothingWorked extends JfluidError {
  static sample = () => [new NothingWorked(4711, 5), new NothingWorked(4711, 5, true)]
  readonly exitCode = EX_NOTCALLED
  readonly hint: string
  constructor(pid: number, seconds: number, hasCarriers = false) {
    super(
      `all ${hasCarriers ? 'platform ' : ''}threads of JVM ${pid} waited for work for ${seconds.toFixed(1)} s`,
    )
    this.hint = hasCarriers
      ? 'Use jfluid attach <pid> --mode sample --sampler jfr: the work runs in virtual threads, which dumps before JDK 24 do not show.'
      : 'Use a longer --duration, or put load on the program.'
  }
}

/** The sampling was ended by SIGTERM, SIGHUP or SIGQUIT. */
export class SamplingEndedBySignal extends JfluidError {
  static sample = () => new SamplingEndedBySignal('SIGTERM')
  readonly exitCode: number
  readonly hint = 'Run jfluid why again for a full sampling: only the samples until then were used.'
  constructor(signal: NodeJS.Signals) {
    super(`${signal} ended the sampling`)
    this.exitCode = signalStatus(signal)
  }
}

export async function why(
  pidText: string | undefined,
  flags: Flags<'why'>,
  print: (text: string) => void,
): Promise<void> {
  const pid = await targetOf(pidText)
  await consentToDumps(pid, flags.yes)
  await whyOf(pid, flags, print)
}

export type WhyFlags = Pick<Flags<'why'>, 'duration' | 'json' | 'top'>

/**
 * @returns false if a signal ended the command before sampling began; the exit status is set then
 * @throws NothingWorked, and errors of `searchWhy`
 */
export async function whyOf(
  pid: number,
  flags: WhyFlags,
  print: (text: string) => void,
  progress = createProgress(process.stderr),
  stop = stopSignal(),
): Promise<boolean> {
  try {
    const why = await searchWhy(pid, {
      ...(flags.duration === undefined ? WHY_SAMPLING : { durationMs: flags.duration }),
      onCost: (text) => progress.note(text),
      onPhase: (phase) => progress.phase(phase),
      onProgress: (text) => progress.update(text),
      stop: stop.fired,
    })
    if (why === null) {
      progress.done(`interrupted before sampling began; JVM ${pid} is unchanged`)
      process.exitCode = signalStatus(await stop.fired)
      return false
    }
    progress.close()
    const { found, answered, carriers } = why
    const isKilled = stop.signal !== null && stop.signal !== 'SIGINT'
    if (answered !== null) {
      const columns = process.stdout.isTTY === true ? process.stdout.columns || undefined : undefined
      print(
        flags.json === true
          ? whyJson(found, answered, flags.top)
          : pageOf(found, answered, flags.top, columns),
      )
    } else if (!found.hasEnded && !isKilled)
      throw new NothingWorked(pid, found.durationMs / 1e3, carriers > 0)
    for (const warning of found.warnings) progress.note(`warning: ${warning}`)
    if (found.hasEnded) throw new NoSuchProcess(pid, 'has ended')
    if (isKilled && stop.signal !== null) throw new SamplingEndedBySignal(stop.signal)
    return true
  } finally {
    stop.dispose()
    progress.close()
  }
}

/** @param columns  width of the terminal */
export function pageOf(
  found: Pick<FoundRoots, 'candidates'>,
  answered: Answered,
  top: number,
  columns?: number,
): string {
  return `${[
    ...headLines(answered, columns),
    ...answerLines(answered, columns),
    nextLine(answered),
    '',
    ...rootLines(found, top, columns),
  ].join('\n')}\n`
}

export function whyJson(found: FoundRoots, answered: Answered, top: number): string {
  const { pid, target, durationMs } = found
  const { answer, dumps } = answered
  return commandJson('why', {
    pid,
    mainClass: target.mainClass,
    jdk: target.jdk,
    durationMs: Math.round(durationMs),
    dumps: dumps.count,
    stoppedMs: dumps.count * dumps.meanMs,
    worstStopMs: dumps.worstMs,
    longDumps: dumps.long,
    ...answer,
    next: nextCommand(answered),
    ...rootsJson(found, top),
  })
}
