// Errors that determine the exit status of a finished recording. The profile is saved before such an error is thrown. An error means that
// the result is incomplete. Each cause has its own exit code.

import {
  EX_IOERR,
  EX_NOMATCH,
  EX_NOROOT,
  EX_NOTCALLED,
  EX_NOTRESTORED,
  EX_TEMPFAIL,
  JfluidError,
} from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { keptProbes } from '../profile/detach-facts.ts'
import type { Profile, Sampling } from '../profile/profile.ts'
import type { FilterReport } from '../reveal/filters.ts'
import type { RootReport } from '../reveal/roots.ts'
import type { Ending } from '../session/ending.ts'
import type { Session } from '../session/session.ts'
import { signalStatus } from './signals.ts'

/** Location of the recorded data: a file, or a store; null if only the report on the screen exists. */
export type Kept = string | { readonly store: string } | null

function read(kept: Kept): string {
  if (typeof kept === 'object' && kept !== null) {
    return `Read the profile in ${kept.store}: it has everything that was recorded until then.`
  }
  return kept === null
    ? 'Use --out to keep a profile: the report has everything that was recorded until then.'
    : `Read the profile, which has everything that was recorded until then: jfluid report ${shellWord(kept)}`
}

/** The JVM exited or was killed during the recording. */
export class JvmEnded extends JfluidError {
  static sample = () => new JvmEnded(4711, '/tmp/app.jfluid')
  readonly exitCode = EX_IOERR
  readonly hint: string
  constructor(pid: number, kept: Kept) {
    super(`JVM ${pid} ended during the recording`)
    this.hint = read(kept)
  }
}

/** The target ended the session because the client was silent, or the recorder failed. The target continues. */
export class SessionCutShort extends JfluidError {
  static sample = () =>
    new SessionCutShort(
      { how: 'by itself', reason: 'the client was stopped or killed', exitCode: EX_TEMPFAIL },
      null,
    )
  readonly exitCode: number
  readonly hint: string
  constructor({ reason, exitCode }: Extract<Ending, { how: 'by itself' }>, kept: Kept) {
    super(`the recording ended too early: ${reason}`)
    this.exitCode = exitCode
    this.hint = read(kept)
  }
}

/** The recording was ended by SIGTERM, SIGHUP or SIGQUIT. Ctrl-C is the normal end of a recording and causes no error. */
export class EndedBySignal extends JfluidError {
  static sample = () => new EndedBySignal('SIGTERM', '/tmp/app.jfluid')
  readonly exitCode: number
  readonly hint: string
  constructor(signal: NodeJS.Signals, kept: Kept) {
    super(`${signal} ended the recording`)
    this.exitCode = signalStatus(signal)
    this.hint = read(kept)
  }
}

/** The target did not answer the detach, or some classes did not get their original code back. */
export class NotRestored extends JfluidError {
  static sample = () => [
    NotRestored.unanswered(4711),
    NotRestored.noMetaspace(4711),
    NotRestored.kept(4711, 2),
  ]
  readonly exitCode = EX_NOTRESTORED
  readonly hint: string
  private constructor(problem: string, hint: string) {
    super(problem)
    this.hint = hint
  }

  static unanswered(pid: number): NotRestored {
    return new NotRestored(
      `JVM ${pid} did not answer the detach, so it may still have code of jfluid`,
      `Check later with jfluid doctor ${pid} whether a session is still there. The JVM restores its code as soon as it runs.`,
    )
  }

  static noMetaspace(pid: number): NotRestored {
    return new NotRestored(
      `JVM ${pid} has no free metaspace, so it did not get its original code back`,
      'Ignore this if the program unloads classes: the agent then restores the code, and until then the probes do nothing. Otherwise restart the program with a larger -XX:MaxMetaspaceSize.',
    )
  }

  static kept(pid: number, classes: number): NotRestored {
    const which = classes === 1 ? '1 class did' : `${classes} classes did`
    return new NotRestored(
      `${which} not get the original code back in JVM ${pid}`,
      `Ignore this, or restart the program: the probes of these classes do nothing. The next session with ${pid} tries to restore them again.`,
    )
  }
}

/** The class of a root was not loaded before the end. */
export class RootNeverLoaded extends JfluidError {
  static sample = () =>
    new RootNeverLoaded({
      text: 'OrderServise.place',
      option: 'root',
      near: ['com.acme.shop.OrderService.place'],
    })
  readonly exitCode = EX_NOROOT
  readonly hint: string
  constructor({ text, option, near }: Pick<RootReport, 'text' | 'option' | 'near'>) {
    super(`${option} '${text}' not found: no class that was loaded until the end has this method`)
    this.hint =
      near.length > 0
        ? `Try --${option} '${near[0]}'${near.length > 1 ? `; also close: ${near.slice(1).join(', ')}` : ''}`
        : 'Check the name, and that the program loads the class.'
  }
}

/** What is known about roots that were not called. */
interface Uncalled {
  readonly names: readonly string[]
  /** Whether regions are timed instead of roots. */
  readonly areRegions?: boolean
  /** Number of first calls that the agent let continue without an answer. Calls of roots may be among them. */
  readonly gaps?: number
}

/** The roots exist, but the program has not called any of them. */
export class RootNeverCalled extends JfluidError {
  static sample = () => [
    new RootNeverCalled(4711, { names: ['com.acme.shop.OrderService.place'] }),
    new RootNeverCalled(4711, { names: ['com.acme.shop.OrderService.place'], gaps: 3 }),
    new RootNeverCalled(null, { names: ['com.acme.shop.OrderService.place'] }),
    new RootNeverCalled(4711, { names: ['com.acme.shop.OrderService.place:17-23'], areRegions: true }),
  ]
  readonly exitCode = EX_NOTCALLED
  readonly hint: string
  /** @param pid  the JVM; null if it has ended */
  constructor(pid: number | null, { names, areRegions = false, gaps = 0 }: Uncalled) {
    const [what, happened] = areRegions ? ['region', 'executed'] : ['root', 'called']
    const none = gaps > 0 ? `no call of a ${what} was recorded (gaps: ${gaps})` : `no ${what} was ${happened}`
    super(`${none}: ${[...new Set(names)].join(', ')}`)
    if (gaps > 0) {
      this.hint = `Record again: the ${what} may have been ${happened} before it had probes.`
    } else if (areRegions) {
      this.hint = 'Name lines that the program executes, or record for longer.'
    } else {
      const candidates =
        pid === null
          ? 'jfluid run --mode sample shows the methods in which it spends its time'
          : `jfluid why ${pid} lists candidates`
      this.hint = `Name a method that the program calls; ${candidates}.`
    }
  }
}

/** The facts of a profile that the message needs. */
interface SampledFacts {
  readonly roots: readonly string[]
  readonly sampling?: Partial<Pick<Sampling, 'outside' | 'dumps'>> | undefined
  readonly target: Pick<Profile['target'], 'jdk'>
}

/** The sampled JVM had no thread to show, or no thread inside the roots. */
export class NothingSampled extends JfluidError {
  static sample = () => [
    new NothingSampled(4711, {
      roots: ['OrderService.place'],
      sampling: { outside: 9, dumps: 12 },
      target: { jdk: '21.0.4' },
    }),
    new NothingSampled(4711, { roots: [], target: { jdk: '21.0.4' } }),
    new NothingSampled(null, {
      roots: ['OrderService.place'],
      sampling: { outside: 9, dumps: 12 },
      target: { jdk: '21.0.4' },
    }),
  ]
  readonly exitCode = EX_NOTCALLED
  readonly hint: string
  /** @param pid  the JVM; null if it has ended */
  constructor(pid: number | null, { roots, sampling, target }: SampledFacts) {
    const { outside = 0, dumps } = sampling ?? {}
    const looks = dumps === undefined ? '' : dumps === 1 ? ' in 1 thread dump' : ` in ${dumps} thread dumps`
    const isInside = roots.length > 0 && outside > 0
    super(
      isInside
        ? `no thread was found inside ${roots.join(', ')}${looks}`
        : `no thread was found running Java code${looks}`,
    )
    const asked = roots.map((root) => `--root ${shellWord(root)}`).join(' ')
    const hasVirtual = dumps !== undefined && /^2[123]\b/.test(target.jdk)
    const unseen = hasVirtual
      ? ' For virtual threads use --sampler jfr: thread dumps of this JDK do not contain them.'
      : ''
    const longer = `${isInside ? 'Sample for longer.' : 'Sample while the program is busy.'}${unseen}`
    const there =
      pid === null
        ? 'Check that the method exists.'
        : `Check that the method exists: jfluid doctor ${pid} ${asked}`
    this.hint = roots.length === 0 ? longer : `${longer} ${there}`
  }
}

/** A filter matched no class. */
export class NoClassMatched extends JfluidError {
  static sample = () => new NoClassMatched([{ option: 'include', text: 'com.acne.*', classes: 0 }])
  readonly exitCode = EX_NOMATCH
  readonly hint =
    'Check the pattern: com.foo.* is a package, and com.foo.** includes its subpackages. Classes of the JDK match only with --jdk.'
  constructor(filters: readonly FilterReport[]) {
    super(`no class matched ${filters.map(filterText).join(', ')}`)
  }
}

export function filterText({ option, text }: FilterReport): string {
  return `--${option} ${text}`
}

type Finished = Pick<Session, 'pid' | 'ending' | 'rootReport' | 'filterReport'> &
  Partial<
    Pick<
      Session,
      'regionProblems' | 'rootsNeverCalled' | 'wasAnyRootCalled' | 'timesRegions' | 'gaps' | 'detachFacts'
    >
  >

/**
 * Returns the most important error of a finished recording, null if there is none.
 *
 * An early end of the recording has priority over problems with the roots: the root might have been found later.
 *
 * @param signal  signal that ended the recording, null if no signal did
 */
export function outcome(session: Finished, signal: NodeJS.Signals | null, where: Kept): JfluidError | null {
  const { ending } = session
  if (ending?.how === 'target ended') return new JvmEnded(session.pid, where)
  if (ending?.how !== 'by itself' && signal !== null && signal !== 'SIGINT')
    return new EndedBySignal(signal, where)
  return badEnd(session, where) ?? missing(session)
}

/**
 * Returns the error of a session that ended too early, or whose JVM may still have code of jfluid; null if there is none. The end of the JVM
 * is no such error: a program of `run` normally ends.
 */
export function badEnd(
  session: Pick<Finished, 'pid' | 'ending' | 'detachFacts'>,
  where: Kept,
): JfluidError | null {
  const { ending } = session
  if (ending?.how === 'by itself') return new SessionCutShort(ending, where)
  if (ending?.how === 'target silent')
    return ending.lacksMetaspace ? NotRestored.noMetaspace(session.pid) : NotRestored.unanswered(session.pid)
  const kept = keptProbes(session.detachFacts ?? null)
  return kept > 0 ? NotRestored.kept(session.pid, kept) : null
}

/** Returns the error of a recording that lacks data that the user asked for, however it has ended; null if no data are missing. */
export function missing(session: Finished): JfluidError | null {
  const [region] = session.regionProblems?.() ?? []
  if (region !== undefined) return region // more specific than the message that the method got no probes
  const root = session.rootReport().find((it) => it.armed)
  if (root !== undefined) return root.problem ?? new RootNeverLoaded(root)
  const { ending, gaps, pid, rootsNeverCalled: names = [], timesRegions, wasAnyRootCalled } = session
  // If another root was called, the profile has a warning: a short recording often contains no call of a rare root.
  if (names.length > 0 && wasAnyRootCalled !== true) {
    return new RootNeverCalled(ending?.how === 'target ended' ? null : pid, {
      names,
      areRegions: timesRegions === true,
      ...(gaps !== undefined && { gaps }),
    })
  }
  const filters = session.filterReport().filter((it) => it.classes === 0)
  return filters.length > 0 ? new NoClassMatched(filters) : null
}
