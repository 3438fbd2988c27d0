// --all: which JVMs a command is for if it is for several at once, and what does not go with that.

import { type Jvm, listJvms } from '../attach/jvms.ts'
import { EX_NOHOST, EX_USAGE, JfluidError } from '../base/errors.ts'
import { BadPattern } from '../reveal/errors.ts'
import { isContainerName } from './containers/name.ts'
import type { JdwpFlag, SessionFlags } from './options.ts'
import { checkHere, jvmsInside, jvmsNamed } from './target.ts'
import type { WaitFlags } from './wait-for.ts'

/** Each has a buffer for events, and a thread of ours that reads them. */
const MOST_JVMS = 16

export interface AllFlag {
  readonly all?: string
}

interface Misplaced {
  readonly what: string
  readonly why: string
  readonly instead: string
}

const ONE_BY_ONE = 'Leave it out, or record each JVM by itself: jfluid record <pid>'
const AS_MANY = 'Leave one of the two out: start it when all are there.'
const LATER = 'Leave it out, and push the file of each JVM afterwards: jfluid push <file> --to <url>'

/** What is of one JVM, or has no sum. */
export class NotWithAll extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint: string
  constructor({ what, why, instead }: Misplaced) {
    super(`--all does not go with ${what}: ${why}`)
    this.hint = instead
  }
}

export class AllNeedsRoot extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Name a root: --root OrderService.process'
  constructor() {
    super('--all shows the calls of a root in several JVMs, and there is no root')
  }
}

export class NoJvmNamed extends JfluidError {
  readonly exitCode = EX_NOHOST
  readonly hint = 'See what JVMs are called: jfluid ps'
  constructor(pattern: string) {
    super(`no JVM has the main class '${pattern}'`)
  }
}

export class TooManyJvms extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint: string
  constructor(pattern: string, jvms: readonly Jvm[]) {
    super(
      isContainerName(pattern)
        ? `'${pattern}' has ${jvms.length} JVMs, and --all takes ${MOST_JVMS} at most`
        : `'${pattern}' is the main class of ${jvms.length} JVMs, and --all takes ${MOST_JVMS} at most`,
    )
    this.hint = `Say more of the name: ${[...new Set(jvms.map(({ mainClass }) => mainClass ?? '?'))].slice(0, 5).join(', ')}`
  }
}

/**
 * To be asked before anything is looked at.
 *
 * @throws NotWithAll, AllNeedsRoot, BadPattern
 */
export function checkAll(
  pidText: string | undefined,
  flags: AllFlag &
    SessionFlags &
    JdwpFlag &
    WaitFlags & { readonly push?: string; readonly stream?: boolean },
): void {
  const { all } = flags
  if (all === undefined) return
  checkHere(all, '--all')
  const given: readonly [what: string, isGiven: boolean, why: string, instead?: string][] = [
    [`'${pidText}'`, pidText !== undefined, 'both say which JVM is meant', 'Leave one of the two out.'],
    ['--jdwp', flags.jdwp !== undefined, "a debugger's port is that of one JVM"],
    ['--wait-for', flags.waitFor !== undefined, 'it takes the JVMs that are there', AS_MANY],
    ['--region', flags.region !== undefined, 'durations of regions are those of one JVM'],
    ['--sampler', flags.sampler !== undefined, 'what is sampled is one JVM'],
    ['--stream', flags.stream === true, 'a stream tells of one JVM'],
    ['--push', flags.push !== undefined, 'what is handed over is profiles of one JVM each', LATER],
    ['--reproducible', flags.reproducible === true, 'a profile that can be had again is that of one JVM'],
    ['--call-sites', flags.callSites === true, 'call sites are not added up'],
    ['--max-overhead', flags.maxOverhead !== undefined, 'each JVM would lose other probes'],
    ['--slow', flags.slow !== undefined, 'what is slow in one JVM need not be so in another'],
    ['--trace', flags.trace !== undefined, 'what is traced is the calls of one JVM'],
    ['--liveness', flags.liveness === true, 'what is alive is so in one JVM'],
  ]
  const misplaced = given.find(([, isGiven]) => isGiven)
  if (misplaced !== undefined) {
    const [what, , why, instead = ONE_BY_ONE] = misplaced
    throw new NotWithAll({ what, why, instead })
  }
  if ((flags.root ?? []).length === 0) throw new AllNeedsRoot()
  if (all.trim() === '')
    throw new BadPattern('main class', all, 'it is empty', 'Write a main class, or a pattern.')
}

/**
 * Those that are there now, by a container as well.
 *
 * @throws what `allNamed` and `jvmsInside` do
 */
export async function allMeant(text: string): Promise<readonly Jvm[]> {
  return isContainerName(text) ? notTooMany(text, await jvmsInside(text)) : allNamed(text)
}

/**
 * @throws NoJvmNamed, TooManyJvms
 */
export function allNamed(pattern: string, jvms: readonly Jvm[] = listJvms()): readonly Jvm[] {
  const found = jvmsNamed(pattern, jvms)
  if (found.length === 0) throw new NoJvmNamed(pattern)
  return notTooMany(pattern, found)
}

function notTooMany(pattern: string, jvms: readonly Jvm[]): readonly Jvm[] {
  if (jvms.length > MOST_JVMS) throw new TooManyJvms(pattern, jvms)
  return jvms
}
