// Facts about a process from the files under /proc/<pid>. Only this module reads and parses these files.
// Parsing is separate from reading, so that it can be tested on text. Nothing here sends signals or writes. An unreadable fact (another
// user's process) is `undefined`, never a guess. `admission.ts` decides whether these facts allow an attach; `hsperfdata.ts` reads the
// JVM's own data.

import { readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ifVisible, linkOf, namesIn, textOf } from '../base/visible.ts'
import { isFrozen } from './control-groups.ts'
import { isNativeImage } from './native-image.ts'

/** Clock ticks per second in /proc/<pid>/stat: USER_HZ, which is 100 on every Linux that runs a JVM. */
const USER_HZ = 100

const SIGQUIT_MASK = 1n << 2n // signal n is bit n - 1; SIGQUIT is 3

export interface ProcessStatus {
  name: string
  /** One letter: R running, S sleeping, D disk, T stopped, t traced, Z zombie, X dead; also F, a frozen JVM: see `isFrozen`. */
  state: string
  /** Thread group id. Differs from the requested pid if the requested pid is a thread id. */
  threadGroup: number
  /** Pid of the process in its innermost pid namespace. */
  nsPid: number
  uid: number
  euid: number
  gid: number
  egid: number
  catchesSigquit: boolean
  ignoresSigquit: boolean
}

/** Parses /proc/<pid>/status; `undefined` when a required line is missing. */
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
 * Returns the start of the process in clock ticks since boot: field 22 of /proc/<pid>/stat.
 * The second field is the program's name in parentheses. The name may contain spaces and parentheses, so fields are counted after the last
 * `)`.
 */
export function parseStartTicks(stat: string): number | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[19]) // fields[0] is field 3
  return stat.includes(')') && Number.isInteger(ticks) ? ticks : undefined
}

/** Returns the processor time of the process, in ms: fields 14 and 15, utime and stime. */
export function parseCpuMs(stat: string): number | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return stat.includes(')') && Number.isInteger(ticks) ? (ticks * 1000) / USER_HZ : undefined
}

/**
 * Returns whether a process has released its memory while it exits: field 23 of /proc/<pid>/stat, its virtual memory in bytes, is 0. The
 * kernel releases the memory before the descriptors. So the result is true once the process's sockets are closed.
 */
export function hasReleasedMemory(stat: string): boolean {
  return stat.includes(')') && stat.slice(stat.lastIndexOf(')') + 2).split(' ')[20] === '0'
}

// Flags of field 9, from the kernel's sched.h.
const PF_EXITING = 0x4
const PF_KTHREAD = 0x200000

/** Returns whether a process is exiting; true slightly earlier than `hasReleasedMemory`. False for kernel threads, which have no memory. */
export function isExiting(stat: string): boolean {
  const flags = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[6])
  return (flags & PF_EXITING) !== 0 || ((flags & PF_KTHREAD) === 0 && hasReleasedMemory(stat))
}

/** Returns the arguments in /proc/<pid>/cmdline, program first. Empty for a zombie or a kernel thread. */
export function parseCommandLine(text: string): string[] {
  if (text === '') return []
  return (text.endsWith('\0') ? text.slice(0, -1) : text).split('\0')
}

/** Returns the name-value pairs of /proc/<pid>/environ. */
export function parseEnvironment(text: string): Map<string, string> {
  const variables = new Map<string, string>()
  for (const pair of text.split('\0')) {
    const equals = pair.indexOf('=')
    if (equals > 0) variables.set(pair.slice(0, equals), pair.slice(equals + 1))
  }
  return variables
}

/** Virtual machine library that a process has mapped. */
export interface VmLibrary {
  kind: 'hotspot' | 'openj9'
  /** Path of libjvm.so in the target's own root; of libj9vm if OpenJ9 runs without libjvm.so. */
  path: string
}

/**
 * Finds the JVM library in /proc/<pid>/maps.
 * OpenJ9 also has a libjvm.so (it forwards to libj9vm), so the file name alone does not identify HotSpot.
 */
export function findVmLibrary(maps: string): VmLibrary | undefined {
  let jvm: string | undefined
  let j9: string | undefined
  for (const [, path, name] of maps.matchAll(/ (\/[^\n]*\/(lib(?:jvm|j9vm\d*)\.so))(?: \(deleted\))?$/gm)) {
    if (name === 'libjvm.so') jvm ??= path
    else j9 ??= path
  }
  const path = jvm ?? j9
  return path === undefined ? undefined : { kind: j9 === undefined ? 'hotspot' : 'openj9', path }
}

/** Runtime libraries that a JVM may have to load because of an attach. */
const ATTACH_LIBRARIES = ['libinstrument', 'libzip', 'libnet', 'libnio']

/**
 * Returns whether an attach would load libraries of another runtime than the JVM's own. True if the runtime's files were deleted or
 * replaced (an upgrade) before the JVM loaded all ATTACH_LIBRARIES. The JVM may then end with `Unable to load zip library`.
 */
export function hasLostRuntime(maps: string): boolean {
  if (!/\/libjvm\.so \(deleted\)$/m.test(maps)) return false
  return !ATTACH_LIBRARIES.every((name) => maps.includes(`/${name}.so`))
}

/**
 * Returns the process's own hsperfdata file in /proc/<pid>/maps as <directory>/<name>; null if the process has mapped none, or a deleted
 * file. The path above is omitted: with chroot, it is not a path in the root of the process.
 */
export function mappedPerfData(maps: string, nsPid: number): string | null {
  return new RegExp(`/(hsperfdata_[^/\n]+/${nsPid})$`, 'm').exec(maps)?.[1] ?? null
}

/** Returns whether `/proc/<pid>/maps` contains libinstrument, which runs Java agents. The JVM never unloads it. */
export function mapsInstrument(maps: string): boolean {
  return /\/libinstrument\.so( \(deleted\))?$/m.test(maps)
}

export interface TargetProcess extends ProcessStatus {
  pid: number
  /** Start time in clock ticks. Distinguishes a process from a later process with the same pid. */
  startTicks: number
  /** Start time in ms since 1970. */
  startedAt: number
  commandLine: string[]
  /** Path of the program; `undefined` if unreadable. */
  executable: string | undefined
  /** `null`: the process maps no JVM library. `undefined`: unreadable. */
  vmLibrary: VmLibrary | null | undefined
  /** Whether the program is a GraalVM native image, which has no JVM. False if unreadable. */
  isNativeImage: boolean
  /** Whether the process must not load further libraries of its runtime: see `hasLostRuntime`. */
  lostRuntime: boolean
  /** File that the process has mapped, such as hsperfdata_root/7, in its own /tmp. `null`: none. `undefined`: unreadable. */
  perfDataName: string | null | undefined
  /** Whether any Java agent has been loaded. `undefined`: unreadable, or the JVM is statically linked. */
  hasJavaAgent: boolean | undefined
  /**
   * Prefix that turns an absolute path in the target into a path for jfluid. The prefix is `/proc/<pid>/root`, or the empty string if
   * jfluid may not enter that directory but has the same /tmp.
   */
  root: string
  /** Whether the process is in another user namespace: the users of jfluid's namespace have other ids there, or no id. */
  ownUsers: boolean
}

/** Returns the text of a file below /proc/<pid>, or `undefined` if it does not exist or is unreadable. */
function readProc(pid: number, name: string): string | undefined {
  return textOf(`/proc/${pid}/${name}`)
}

let bootTime: number | undefined

/** Returns the boot time of the machine, in ms since 1970. */
function bootedAt(): number {
  bootTime ??= Number(/^btime (\d+)/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? 0) * 1000
  return bootTime
}

/** @param ticks  clock ticks since boot; returns ms since 1970 */
const atTicks = (ticks: number): number => bootedAt() + (ticks * 1000) / USER_HZ

/** Reads the current facts about `pid`; `undefined` when there is no such process. */
export function readTargetProcess(pid: number): TargetProcess | undefined {
  const status = parseStatus(readProc(pid, 'status') ?? '')
  const startTicks = parseStartTicks(readProc(pid, 'stat') ?? '')
  if (status === undefined || startTicks === undefined) return undefined
  const maps = readProc(pid, 'maps')
  const vmLibrary = maps === undefined ? undefined : (findVmLibrary(maps) ?? null)
  // An exiting process shows no mapped memory, and would look like a process that is not a JVM.
  const now = vmLibrary === null ? readProc(pid, 'stat') : undefined
  if (vmLibrary === null && now === undefined) return undefined
  const itsRoot = `/proc/${pid}/root`
  return {
    ...status,
    ...(now !== undefined && isExiting(now) && { state: 'X' }),
    // A process that is both stopped and frozen must be thawed first, so F replaces T.
    ...(vmLibrary && isFrozen(pid) && { state: 'F' }),
    pid,
    startTicks,
    startedAt: atTicks(startTicks),
    ...readCommand(pid),
    vmLibrary,
    isNativeImage: vmLibrary === null && isNativeImage(pid),
    lostRuntime: maps !== undefined && hasLostRuntime(maps),
    perfDataName: maps === undefined ? undefined : mappedPerfData(maps, status.nsPid),
    hasJavaAgent: maps !== undefined && vmLibrary ? mapsInstrument(maps) : undefined,
    root: canEnter(`${itsRoot}/tmp`) || status.nsPid !== pid || hasOtherTmp(pid) ? itsRoot : '',
    ownUsers: readProc(pid, 'uid_map') !== readFileSync('/proc/self/uid_map', 'utf8'),
  }
}

/**
 * Identifies the directory behind /tmp by the mounts at /tmp and / in /proc/<pid>/mountinfo. The result is the number of the file system
 * and the path in it. The mount id is no identity: each namespace has copies of a mount with different ids. The mount point is no identity
 * either: /tmp may be mounted on itself. Returns `undefined` if the root is not a mount (a chroot): mountinfo then lists neither / nor
 * /tmp.
 */
export function mountOfTmp(mountInfo: string): string | undefined {
  const mounts = [...mountInfo.matchAll(/^\d+ \d+ (\d+:\d+) (\S+) (\/|\/tmp) /gm)]
  // A later mount hides earlier mounts at the same place.
  const its = mounts.findLast(([, , , place]) => place === '/tmp') ?? mounts.at(-1)
  if (its === undefined) return undefined
  const [, device, of, place] = its
  return `${device} ${place === '/tmp' ? of : posix.join(of!, 'tmp')}`
}

/**
 * Returns whether the /tmp of a process differs from jfluid's /tmp; false if unknown. A container with --pid=host sees the host's processes
 * with the same pids, and a service may have a private /tmp. The mounts are readable even without permission to enter the root directory.
 */
function hasOtherTmp(pid: number): boolean {
  const [its, ours] = [readProc(pid, 'mountinfo'), readProc(process.pid, 'mountinfo')]
  return its !== undefined && ours !== undefined && mountOfTmp(its) !== mountOfTmp(ours)
}

function canEnter(directory: string): boolean {
  return ifVisible(() => statSync(directory).isDirectory()) ?? false
}

/** Returns the initial environment of the process; empty if unreadable. */
export function readEnvironment(pid: number): Map<string, string> {
  return parseEnvironment(readProc(pid, 'environ') ?? '')
}

/** Returns the processor time of the process in ms; undefined if it has ended. */
export function readCpuMs(pid: number): number | undefined {
  return parseCpuMs(readProc(pid, 'stat') ?? '')
}

/**
 * Returns the start of HotSpot's VM thread in `pid`, in ms since 1970; undefined if no thread has its name. The names and the starts of
 * threads are readable for all users, unlike the memory maps.
 */
export function vmThreadStart(pid: number): number | undefined {
  for (const thread of namesIn(`/proc/${pid}/task`) ?? []) {
    if (readProc(pid, `task/${thread}/comm`)?.trimEnd() !== 'VM Thread') continue
    const ticks = parseStartTicks(readProc(pid, `task/${thread}/stat`) ?? '')
    if (ticks !== undefined) return atTicks(ticks)
  }
  return undefined
}

/** Reads the program and the command line of a process; empty if it has ended. */
export function readCommand(pid: number): Pick<TargetProcess, 'commandLine' | 'executable'> {
  return {
    commandLine: parseCommandLine(readProc(pid, 'cmdline') ?? ''),
    executable: linkOf(`/proc/${pid}/exe`),
  }
}

/** Returns the process ids of the children of `pid`; empty if unreadable. */
export function childrenOf(pid: number): number[] {
  return (namesIn(`/proc/${pid}/task`) ?? []).flatMap((task) =>
    (readProc(pid, `task/${task}/children`) ?? '').split(' ').filter(Boolean).map(Number),
  )
}

/** Returns the kernel names of the threads of `pid`, cut to 15 characters; empty if unreadable. */
export function readThreadNames(pid: number): Set<string> {
  const threads = namesIn(`/proc/${pid}/task`) ?? []
  return new Set(threads.map((thread) => (readProc(pid, `task/${thread}/comm`) ?? '').trimEnd()))
}

/** Returns whether `process` still runs. Another process with the same pid does not count. */
export function stillRuns({ pid, startTicks }: Pick<TargetProcess, 'pid' | 'startTicks'>): boolean {
  const stat = readProc(pid, 'stat')
  if (stat === undefined || parseStartTicks(stat) !== startTicks) return false
  const state = stat[stat.lastIndexOf(')') + 2]
  return state !== 'Z' && state !== 'X' && !hasReleasedMemory(stat)
}

/** Maximum time from the closing of a process's sockets until /proc shows that the process exits. On Linux this is normally immediate. */
const EXIT_TIMEOUT_MS = 1_000
const EXIT_POLL_INTERVAL_MS = 10

/** Returns whether a process has ended or is exiting. The sockets of an exiting process are closed before the process disappears. */
export async function endsNow(
  process: Pick<TargetProcess, 'pid' | 'startTicks'>,
  withinMs = EXIT_TIMEOUT_MS,
): Promise<boolean> {
  const giveUp = performance.now() + withinMs
  while (stillRuns(process)) {
    if (performance.now() >= giveUp) return false
    await sleep(EXIT_POLL_INTERVAL_MS)
  }
  return true
}
