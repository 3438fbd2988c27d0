// What Linux knows about a process: the files under /proc/<pid>, read and parsed here only.
//
// Parsing is kept apart from reading, so that it can be tested on text. Nothing here signals or
// writes. A fact that we may not read (another user's process) is `undefined`, never a guess.
// Whether these facts allow an attach is `admission.ts`; what the JVM itself says is `hsperfdata.ts`.

import { readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ifVisible, linkOf, namesIn, textOf } from '../base/visible.ts'
import { isFrozen } from './control-groups.ts'

/** Clock ticks a second in /proc/<pid>/stat: USER_HZ, which is 100 on every Linux that runs a JVM. */
const USER_HZ = 100

const SIGQUIT_MASK = 1n << 2n // signal n is bit n - 1; SIGQUIT is 3

export interface ProcessStatus {
  name: string
  /** One letter: R running, S sleeping, D disk, T stopped, t traced, Z zombie, X dead. And a JVM's F: see `isFrozen`. */
  state: string
  /** Thread group: differs from the pid asked for when that is the id of a thread. */
  threadGroup: number
  /** The process's own idea of its pid: that of the innermost pid namespace. */
  nsPid: number
  uid: number
  euid: number
  gid: number
  egid: number
  catchesSigquit: boolean
  ignoresSigquit: boolean
}

/** Parses /proc/<pid>/status; `undefined` when a line we need is missing. */
export function parseStatus(text: string): ProcessStatus | undefined {
  const lines = new Map<string, string>()
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) lines.set(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const numbers = (name: string) => (lines.get(name) ?? '').split(/\s+/).map(Number)
  const mask = (name: string) => {
    const hex = lines.get(name)
    return hex !== undefined && /^[0-9a-f]+$/i.test(hex) ? BigInt(`0x${hex}`) : 0n
  }
  const [uid, euid] = numbers('Uid')
  const [gid, egid] = numbers('Gid')
  const threadGroup = Number(lines.get('Tgid'))
  const nsPid = lines.has('NSpid') ? numbers('NSpid').at(-1) : threadGroup // absent before Linux 4.1
  const state = lines.get('State')?.[0]
  if (![uid, euid, gid, egid, threadGroup, nsPid].every(Number.isInteger) || state === undefined) {
    return undefined
  }
  return {
    name: lines.get('Name') ?? '',
    state,
    threadGroup,
    nsPid: nsPid as number,
    uid: uid as number,
    euid: euid as number,
    gid: gid as number,
    egid: egid as number,
    catchesSigquit: (mask('SigCgt') & SIGQUIT_MASK) !== 0n,
    ignoresSigquit: (mask('SigIgn') & SIGQUIT_MASK) !== 0n,
  }
}

/**
 * Start of the process in clock ticks since boot: field 22 of /proc/<pid>/stat.
 *
 * The second field is the program's name in parentheses and may itself hold spaces and
 * parentheses, so counting begins behind the last one.
 */
export function parseStartTicks(stat: string): number | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[19]) // the first field here is number 3
  return stat.includes(')') && Number.isInteger(ticks) ? ticks : undefined
}

/** Time that the process has spent on processors, in ms: fields 14 and 15, utime and stime. */
export function parseCpuMs(stat: string): number | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return stat.includes(')') && Number.isInteger(ticks) ? (ticks * 1000) / USER_HZ : undefined
}

/**
 * Whether a process is on its way out: field 23 of /proc/<pid>/stat is its virtual memory in bytes, which it gives up before its
 * descriptors. Whoever sees its sockets closed sees this.
 */
export function hasLetGoOfMemory(stat: string): boolean {
  return stat.includes(')') && stat.slice(stat.lastIndexOf(')') + 2).split(' ')[20] === '0'
}

// Of field 9, from the kernel's sched.h.
const PF_EXITING = 0x4
const PF_KTHREAD = 0x200000

/** The same a moment earlier, and not of a thread of the kernel, which has no memory either. */
export function isLeaving(stat: string): boolean {
  const flags = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[6])
  return (flags & PF_EXITING) !== 0 || ((flags & PF_KTHREAD) === 0 && hasLetGoOfMemory(stat))
}

/** Arguments of /proc/<pid>/cmdline, program first. Empty for a zombie or a kernel thread. */
export function parseCommandLine(text: string): string[] {
  if (text === '') return []
  return (text.endsWith('\0') ? text.slice(0, -1) : text).split('\0')
}

/** Name-value pairs of /proc/<pid>/environ. */
export function parseEnvironment(text: string): Map<string, string> {
  const variables = new Map<string, string>()
  for (const pair of text.split('\0')) {
    const equals = pair.indexOf('=')
    if (equals > 0) variables.set(pair.slice(0, equals), pair.slice(equals + 1))
  }
  return variables
}

/** The virtual machine library that a process has mapped. */
export interface VmLibrary {
  kind: 'hotspot' | 'openj9'
  /** Path of libjvm.so in the target's own root. */
  path: string
}

/**
 * Finds the JVM in /proc/<pid>/maps.
 *
 * OpenJ9 also has a libjvm.so (it forwards to libj9vm), so that name alone does not mean HotSpot.
 */
export function findVmLibrary(maps: string): VmLibrary | undefined {
  let jvm: string | undefined
  let openj9 = false
  for (const [, path, name] of maps.matchAll(/ (\/[^\n]*\/(lib(?:jvm|j9vm\d*)\.so))(?: \(deleted\))?$/gm)) {
    if (name === 'libjvm.so') jvm ??= path
    else openj9 = true
  }
  if (jvm === undefined) return undefined
  return { kind: openj9 ? 'openj9' : 'hotspot', path: jvm }
}

/** Libraries of the runtime that an attach makes a JVM load. */
const ATTACH_LIBRARIES = ['libinstrument', 'libzip', 'libnet', 'libnio']

/**
 * Whether an attach would have the JVM load libraries of a runtime that is not its own: the files it was started from have been deleted
 * or replaced (an upgrade), and it has not loaded all of them before. It may end by that: `Unable to load zip library`.
 */
export function hasLostRuntime(maps: string): boolean {
  if (!/\/libjvm\.so \(deleted\)$/m.test(maps)) return false
  return !ATTACH_LIBRARIES.every((name) => maps.includes(`/${name}.so`))
}

/** Whether /proc/<pid>/maps has the process's own hsperfdata file, still linked in its directory. */
export function mapsPerfData(maps: string, nsPid: number): boolean {
  return new RegExp(`/hsperfdata_[^/\n]+/${nsPid}$`, 'm').test(maps)
}

/** Whether `/proc/<pid>/maps` has the library that runs agents in Java. It stays once it is loaded. */
export function mapsInstrument(maps: string): boolean {
  return /\/libinstrument\.so( \(deleted\))?$/m.test(maps)
}

export interface TargetProcess extends ProcessStatus {
  pid: number
  /** Tells a process from a later one with the same pid. */
  startTicks: number
  /** ms since 1970. */
  startedAt: number
  commandLine: string[]
  /** Path of the program, or `undefined` when we may not look. */
  executable: string | undefined
  /** `null`: it has none. `undefined`: we may not look. */
  vmLibrary: VmLibrary | null | undefined
  /** It must not be made to load libraries of its runtime: see `hasLostRuntime`. */
  lostRuntime: boolean
  /** Whether it shares hsperfdata. `undefined`: we may not look. */
  perfDataMapped: boolean | undefined
  /** Whether an agent in Java has been loaded, of whomever. `undefined`: we may not look, or the JVM has its libraries built in. */
  hasJavaAgent: boolean | undefined
  /**
   * Prefix that turns the target's absolute paths into ours: `/proc/<pid>/root`, or the empty
   * string when we may not go through that but have the same /tmp.
   */
  root: string
  /** In a user namespace that is not ours: it knows our users by other numbers, or not at all. */
  ownUsers: boolean
}

/** Text of a file below /proc/<pid>, or `undefined` when it is not there or not ours to read. */
function readProc(pid: number, name: string): string | undefined {
  return textOf(`/proc/${pid}/${name}`)
}

let bootTime: number | undefined

/** When the machine was booted, in ms since 1970. */
function bootedAt(): number {
  bootTime ??= Number(/^btime (\d+)/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? 0) * 1000
  return bootTime
}

/** The facts about `pid` now; `undefined` when there is no such process. */
export function readTargetProcess(pid: number): TargetProcess | undefined {
  const status = parseStatus(readProc(pid, 'status') ?? '')
  const startTicks = parseStartTicks(readProc(pid, 'stat') ?? '')
  if (status === undefined || startTicks === undefined) return undefined
  const maps = readProc(pid, 'maps')
  const vmLibrary = maps === undefined ? undefined : (findVmLibrary(maps) ?? null)
  // One that ends shows no memory any more, and would be taken for something that never was a JVM.
  const now = vmLibrary === null ? readProc(pid, 'stat') : undefined
  if (vmLibrary === null && now === undefined) return undefined
  const itsRoot = `/proc/${pid}/root`
  return {
    ...status,
    ...(now !== undefined && isLeaving(now) && { state: 'X' }),
    // One that is stopped as well has to be continued after that.
    ...(vmLibrary && isFrozen(pid) && { state: 'F' }),
    pid,
    startTicks,
    startedAt: bootedAt() + (startTicks * 1000) / USER_HZ,
    commandLine: parseCommandLine(readProc(pid, 'cmdline') ?? ''),
    executable: linkOf(`/proc/${pid}/exe`),
    vmLibrary,
    lostRuntime: maps !== undefined && hasLostRuntime(maps),
    perfDataMapped: maps === undefined ? undefined : mapsPerfData(maps, status.nsPid),
    hasJavaAgent: maps !== undefined && vmLibrary ? mapsInstrument(maps) : undefined,
    root: canEnter(`${itsRoot}/tmp`) || status.nsPid !== pid || hasOtherTmp(pid) ? itsRoot : '',
    ownUsers: readProc(pid, 'uid_map') !== readFileSync('/proc/self/uid_map', 'utf8'),
  }
}

/**
 * Which directory /tmp is, by what is mounted there or above it in /proc/<pid>/mountinfo: the number of its file system, and the
 * path in that. Not the number of the mount: each namespace has copies, and they have numbers of their own. Nor where it is
 * mounted: /tmp may be on itself. `undefined` for a root that is no mount of its own (a chroot), where neither is listed.
 */
export function mountOfTmp(mountInfo: string): string | undefined {
  const mounts = [...mountInfo.matchAll(/^\d+ \d+ (\d+:\d+) (\S+) (\/|\/tmp) /gm)]
  // The last one hides those that were mounted there before.
  const its = mounts.findLast(([, , , place]) => place === '/tmp') ?? mounts.at(-1)
  if (its === undefined) return undefined
  const [, device, of, place] = its
  return `${device} ${place === '/tmp' ? of : posix.join(of!, 'tmp')}`
}

/**
 * Whether the /tmp of a process is surely not ours: a container may show the processes of its machine (--pid=host), by the same numbers, and
 * a service may have a /tmp of its own. Mounts may be read of processes whose root may not be entered.
 */
function hasOtherTmp(pid: number): boolean {
  const [its, ours] = [readProc(pid, 'mountinfo'), readProc(process.pid, 'mountinfo')]
  return its !== undefined && ours !== undefined && mountOfTmp(its) !== mountOfTmp(ours)
}

function canEnter(directory: string): boolean {
  return ifVisible(() => statSync(directory).isDirectory()) ?? false
}

/** Environment the process was started with; empty when we may not look. */
export function readEnvironment(pid: number): Map<string, string> {
  return parseEnvironment(readProc(pid, 'environ') ?? '')
}

/** ms of processor time since it started; undefined when it has gone. */
export function readCpuMs(pid: number): number | undefined {
  return parseCpuMs(readProc(pid, 'stat') ?? '')
}

/** The kernel's names of the threads of `pid`, 15 characters of each; empty when we may not look. */
export function readThreadNames(pid: number): Set<string> {
  const threads = namesIn(`/proc/${pid}/task`) ?? []
  return new Set(threads.map((thread) => (readProc(pid, `task/${thread}/comm`) ?? '').trimEnd()))
}

/** True while `process` (and not another one with its pid) runs. */
export function stillRuns({ pid, startTicks }: Pick<TargetProcess, 'pid' | 'startTicks'>): boolean {
  const stat = readProc(pid, 'stat')
  if (stat === undefined || parseStartTicks(stat) !== startTicks) return false
  const state = stat[stat.lastIndexOf(')') + 2]
  return state !== 'Z' && state !== 'X' && !hasLetGoOfMemory(stat)
}

/** So long a process that has closed its sockets may take to show that it ends. On Linux it has shown it before. */
const ENDING_MS = 1_000
const ENDING_LOOK_MS = 10

/** Whether a process has ended, or does so now: the sockets of one that exits are closed before it is gone. */
export async function endsNow(
  process: Pick<TargetProcess, 'pid' | 'startTicks'>,
  withinMs = ENDING_MS,
): Promise<boolean> {
  const giveUp = performance.now() + withinMs
  while (stillRuns(process)) {
    if (performance.now() >= giveUp) return false
    await sleep(ENDING_LOOK_MS)
  }
  return true
}
