// Visible remains of jfluid in and around a JVM: threads, descriptors, mappings, files, objects.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { attachCommand } from '../../src/attach/command.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'

/** Returns the names of Java threads without those that the JVM starts and ends at any time. */
export async function threadNames(pid: number): Promise<string[]> {
  const dump = await threadDump(pid)
  const names = [...dump.matchAll(/^"(.*?)" #\d+/gm)].map((m) => m[1]!)
  return names.filter((name) => !/^C[12] CompilerThread\d+$/.test(name)).sort()
}

export async function threadDump(pid: number): Promise<string> {
  return command(pid, 'threaddump')
}

/** Runs a diagnostic command like `jcmd <pid> <line>`. */
export function jcmd(pid: number, line: string): Promise<string> {
  return command(pid, 'jcmd', line)
}

async function command(pid: number, ...words: [string, ...string[]]): Promise<string> {
  const { socketPath } = await openAttachSocket(pid)
  const [operation, ...args] = words
  const { code, text } = await attachCommand(socketPath, operation, args, { timeoutMs: 30_000 })
  if (code !== 0) throw new Error(`${words.join(' ')}: ${code} ${text}`)
  return text
}

/** Returns the number of live objects per class after a garbage collection. */
export async function liveObjects(pid: number, ofClass: RegExp): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const line of (await jcmd(pid, 'GC.class_histogram')).split('\n')) {
    const [, count, name] = /^\s*\d+:\s+(\d+)\s+\d+\s+(\S+)/.exec(line) ?? []
    if (name !== undefined && ofClass.test(name)) {
      // The name of a lambda class contains its address.
      const plain = name.replace(/(\$\$Lambda)[/$.+0-9a-fx]*/, '$1')
      found.set(plain, (found.get(plain) ?? 0) + Number(count))
    }
  }
  return found
}

/** Returns the targets of open descriptors, without the numbers of sockets and pipes. */
export function descriptors(pid: number): string[] {
  const open: string[] = []
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      open.push(readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/:\[\d+\]$/, ''))
    } catch {
      // The descriptor was closed after it was listed.
    }
  }
  return open.sort()
}

/**
 * Waits until the JVM has closed its end of every attach connection. It closes a connection shortly after the client has read the answer.
 * `/proc/net/unix` lists accepted sockets with the path of the listening socket.
 */
export async function attachConnectionsClosed(pid: number): Promise<void> {
  const path = new RegExp(`/\\.java_pid${pid}(\\.tmp)?$`, 'gm')
  await until(() => (readFileSync('/proc/net/unix', 'utf8').match(path) ?? []).length <= 1)
}

/** Returns the files that are mapped into a process. */
export function mappedFiles(pid: number): string[] {
  const files = new Set<string>()
  for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
    const at = line.indexOf('/')
    if (at > 0) files.add(line.slice(at))
  }
  return [...files].sort()
}

export function threadCount(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).length
}

/**
 * Returns files with the process id of the target or of a client in their names. Searches the shared directories and the working directory,
 * which the target shares with this process.
 */
export function filesOf(target: number, ...clients: readonly number[]): string[] {
  const ours = (name: string): boolean =>
    new RegExp(`^\\.(java|attach|jfluid)_pid${target}$`).test(name) ||
    clients.some((client) => new RegExp(`^jfluid-\\d+-${client}-`).test(name))
  return ['/tmp', '/dev/shm', process.cwd()].flatMap((dir) =>
    readdirSync(dir)
      .filter(ours)
      .map((name) => `${dir}/${name}`),
  )
}

/** Returns the names of threads from the kernel, without a request to the JVM, which might not answer. */
export function threadsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    try {
      return [readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim()]
    } catch {
      return [] // the thread has ended
    }
  })
}

/** Returns the names of jfluid threads from the kernel. */
export function ownThreads(pid: number): string[] {
  return threadsOf(pid)
    .filter((name) => name.startsWith('jfluid-'))
    .sort()
}

/** Maximum time in which a target on a busy machine restores thousands of classes. */
const GONE_TIMEOUT_MS = 30_000

/**
 * Returns the remains of sessions that have ended or are about to end: threads, files, mappings, descriptors. Waits up to GONE_TIMEOUT_MS
 * until nothing remains.
 *
 * @param staying  names of threads that are expected to stay
 */
export async function remainsOf(
  target: number,
  clients: readonly number[],
  staying: readonly string[] = [],
): Promise<string[]> {
  const look = (): string[] => [
    ...added(staying, ownThreads(target)).map((it) => `thread ${it}`),
    ...filesOf(target, ...clients).filter((it) => it !== `/tmp/.java_pid${target}`),
    ...mappedFiles(target).filter((it) => /jfluid-\d/.test(it)),
    ...descriptors(target).filter((it) => /jfluid-\d/.test(it)),
  ]
  const latest = performance.now() + GONE_TIMEOUT_MS
  let left = look()
  while (left.length > 0 && performance.now() < latest) {
    await sleep(20)
    left = look()
  }
  return left
}

/** Returns the elements of `after` without those of `before`, with the number of occurrences taken into account. */
export function added(before: readonly string[], after: readonly string[]): string[] {
  const left = [...before]
  return after.filter((x) => {
    const at = left.indexOf(x)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** Polls until the condition is true. The test's timeout limits the wait. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5)
}
