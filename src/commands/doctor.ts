// jfluid doctor: predicts the result of an attach. Without a root, the command does not touch the JVM.

import { NoSuchProcess } from '../attach/admission.ts'
import { readProcessors } from '../attach/processors.ts'
import { append, maxOf } from '../base/arrays.ts'
import type { Flags } from '../options/table.ts'
import { commandJson } from '../profile/command-json.ts'
import { clean, count, plural, width } from '../profile/text.ts'
import type { DebuggedExamination } from '../session/doors/debugger-doctor.ts'
import { type DebuggerAddress, textOf } from '../session/doors/debugger-port.ts'
import { examine, type Finding, statusOf } from '../session/doors/doctor.ts'
import { attachDoor } from '../session/doors/door.ts'
import { type ReachOptions, type RootReach, reachOfRoots } from '../session/roots/root-reach.ts'
import { createProgress } from '../tui/progress.ts'
import { describeRoots } from './matches.ts'
import { sessionOptions } from './options.ts'
import { targetOf } from './target.ts'
import { JdwpOrPid } from './way-in.ts'

/** Maximum number of reasons for skipped methods in the text. */
const MAX_REASONS = 5
/** Duration of the measurement of the JVM's processor use. */
const SAMPLE_DURATION_MS = 500
/** Maximum number of packages in the text; maximum number of callees of roots in the text. */
const MAX_PACKAGES = 8
const MAX_CALLEES = 12

/** @returns the exit status that an attach would have; 0 if no obstacle is known */
export async function doctor(
  pidText: string | undefined,
  flags: Flags<'doctor'>,
  print: (text: string) => void,
): Promise<number> {
  if (flags.jdwp !== undefined && pidText !== undefined) throw new JdwpOrPid(pidText)
  const hasRoot = flags.root !== undefined && flags.root.length > 0
  const options = hasRoot ? sessionOptions({ ...flags, scheme: 'b', yes: true }) : undefined // an invalid root is reported before the JVM is examined
  if (flags.jdwp !== undefined) return await doctorOverPort(flags.jdwp, options, flags.json === true, print)
  const pid = await targetOf(pidText)
  const examination = examine(pid, undefined, await readProcessors(pid, SAMPLE_DURATION_MS))
  if (examination === undefined) throw new NoSuchProcess(pid)
  const { jvm, findings } = examination
  const status = statusOf(findings)
  const json = flags.json === true
  if (!json) print(findingsText(`${jvm.pid}  ${clean(jvm.mainClass ?? '?')}`, findings))
  let reach: RootReach | undefined
  if (options !== undefined && status === 0) {
    const progress = createProgress(process.stderr)
    try {
      progress.note(`loading the agent into ${pid}: it reads classes and instruments nothing`)
      const onPhase = (phase: string): void => progress.phase(phase)
      onPhase(`attaching to ${pid}`)
      reach = await reachOfRoots(await attachDoor(pid, { onPhase }), options, onPhase)
    } finally {
      progress.close()
    }
    if (!json) print(reachText(reach))
  }
  if (json) {
    print(doctorJson(jvm, findings, reach))
  } else print(verdict(String(jvm.pid), findings, status, hasRoot && reach === undefined))
  return status
}

/** Examines the program over the debugger's port, without loading an agent: its classes, and the methods that roots reach. */
async function doctorOverPort(
  address: DebuggerAddress,
  options: ReachOptions | undefined,
  json: boolean,
  print: (text: string) => void,
): Promise<number> {
  const { examineDebugged } = await import('../session/doors/debugger-doctor.ts')
  const progress = createProgress(process.stderr)
  let examination: DebuggedExamination
  try {
    examination = await examineDebugged(address, options, (phase) => progress.update(phase))
  } finally {
    progress.close()
  }
  const { classes, findings, mainClass, pid, reach } = examination
  const status = statusOf(findings)
  const name = textOf(address)
  if (json) {
    print(doctorJson({ jdwp: name, pid, mainClass, classes }, findings, reach))
    return status
  }
  print(findingsText(`${name}  ${clean(mainClass ?? '?')}`, findings))
  print(classesText(examination))
  if (reach !== undefined) print(reachText(reach) + calleesText(reach))
  print(verdict(`--jdwp ${name}`, findings, status, false))
  return status
}

/** Lists the packages of the program, sorted by their number of classes in descending order. */
function classesText({ classes, loadedClasses }: DebuggedExamination): string {
  const all = counted(classes.map((it) => it.slice(0, Math.max(0, it.lastIndexOf('.')))))
  const named = all.slice(0, MAX_PACKAGES).map(([name, n]) => `${clean(name) || '(unnamed)'} ${count(n)}`)
  const rest = all.length - named.length
  if (rest > 0) named.push(plural(rest, 'more package'))
  return `\n${count(loadedClasses)} classes are loaded, ${count(classes.length)} of them belong to the program: ${named.join(', ') || 'none'}\n`
}

function calleesText({ callees }: RootReach): string {
  const named = callees.slice(0, MAX_CALLEES).map((it) => `  ${clean(it)}\n`)
  const more = callees.length > MAX_CALLEES ? '  …\n' : ''
  return callees.length === 0 ? '' : `methods that the roots call:\n${named.join('')}${more}`
}

const MARKS: Readonly<Record<Finding['level'], string>> = { ok: 'ok', note: 'note', problem: 'PROBLEM' }

function findingsText(head: string, findings: readonly Finding[]): string {
  const columns = process.stdout.columns || Number.POSITIVE_INFINITY
  const lines = [head]
  const checks = maxOf(
    findings.map((it) => it.check.length),
    0,
  )
  for (const { level, check, text, hint } of findings) {
    const head = `  ${MARKS[level].padEnd(7)}  ${check.padEnd(checks)}  `
    append(lines, wrapped(head, clean(text), columns))
    if (hint !== undefined) append(lines, wrapped(' '.repeat(width(head)), clean(hint), columns))
  }
  return `${lines.join('\n')}\n`
}

/** Wraps text at blanks. Further lines are indented by the width of the head. */
function wrapped(head: string, text: string, columns: number): string[] {
  const room = Math.max(30, columns - width(head))
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && width(line) + 1 + width(word) > room) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  lines.push(line)
  return lines.map((it, i) => (i === 0 ? head : ' '.repeat(width(head))) + it)
}

function reachText(reach: RootReach): string {
  const { schemeA, schemeB } = reach
  const inClasses = ({ methods, classes }: RootReach['schemeA']): string =>
    `${plural(methods, 'method')} in ${classes === 1 ? '1 class' : `${count(classes)} classes`}`
  const { scheme, why, pauseMs } = reach.auto
  const stops =
    pauseMs === null ? '' : `; one redefinition would stop the JVM for about ${Math.ceil(pauseMs)} ms`
  const lines = [
    ...describeRoots(reach.roots).map((it) => it.replace('; waiting for', '; an attach would wait for')),
    `scheme auto would select ${scheme}${why === null ? '' : `, because ${why}`}${stops}`,
    `scheme a would instrument ${inClasses(schemeA)} at the start`,
    `scheme b would instrument ${inClasses(schemeB)} at the start, and more as they are called, at most ${count(schemeA.methods)}`,
    ...reasonsOf(reach).map(
      ({ reason, methods }) => `  not instrumented: ${plural(methods, 'method')}: ${clean(reason)}`,
    ),
  ]
  return `\n${lines.join('\n')}\n`
}

/** Returns the reasons, sorted by their number of methods in descending order. The last entry sums up the reasons beyond MAX_REASONS. */
function reasonsOf({ skipped }: RootReach): { reason: string; methods: number }[] {
  const all = counted(skipped.map((it) => it.reason)).map(([reason, methods]) => ({ reason, methods }))
  const rest = all.slice(MAX_REASONS)
  if (rest.length === 0) return all
  const methods = rest.reduce((sum, it) => sum + it.methods, 0)
  return [...all.slice(0, MAX_REASONS), { reason: plural(rest.length, 'other reason'), methods }]
}

/** Counts equal texts, the most frequent first. */
function counted(texts: readonly string[]): [text: string, times: number][] {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}

/** Checks whose notes mean that an attach would affect the program. */
const COSTS: ReadonlySet<Finding['check']> = new Set(['redefinition', 'classes', 'metaspace', 'processors'])

/** @param name  the JVM as the user typed it */
export function verdict(
  name: string,
  findings: readonly Finding[],
  status: number,
  isUnasked: boolean,
): string {
  const problems = findings.filter((it) => it.level === 'problem').length
  const costs = findings.filter((it) => it.level === 'note' && COSTS.has(it.check)).map((it) => it.check)
  if (problems === 0 && costs.length === 0)
    return `\nOK to attach: no obstacle found for jfluid attach ${name}\n`
  if (problems === 0)
    return `\nOK to attach, but jfluid attach ${name} would affect the program: see ${costs.join(', ')}\n`
  const unasked = isUnasked ? '; the root was not checked' : ''
  return `\ndo not attach: ${plural(problems, 'problem')}${unasked}; jfluid attach would end with exit code ${status}\n`
}

/** A JVM of this machine, or one that was examined over a debugger's port, with the classes of its program. */
interface Examined {
  readonly jdwp?: string
  readonly pid: number | null
  readonly mainClass?: string | undefined
  readonly classes?: readonly string[]
}

export function doctorJson(
  { jdwp, pid, mainClass, classes }: Examined,
  findings: readonly Finding[],
  reach?: RootReach,
): string {
  const exitCode = statusOf(findings)
  return commandJson('doctor', {
    ...{ jdwp, pid, mainClass: mainClass ?? null, classes },
    ...{ go: exitCode === 0, exitCode, findings },
    ...(reach !== undefined && {
      reach: {
        roots: reach.roots.map(({ text, methods, classes }) => ({ root: text, methods, classes })),
        schemeA: reach.schemeA,
        schemeB: reach.schemeB,
        skipped: reasonsOf(reach),
        callees: reach.callees,
        auto: reach.auto,
      },
    }),
  })
}
