// Selects the JVM of a command: by a process id, by a main class, or from a list.

import { type Jvm, listJvms } from '../attach/jvms.ts'
import { readCpuMs } from '../attach/target-process.ts'
import { EX_NOHOST, JfluidError, UsageError } from '../base/errors.ts'
import { loginTo, remoteAddress } from '../remote/address.ts'
import { JvmElsewhere } from '../remote/errors.ts'
import type { JvmRow } from '../tui/jvm-list.ts'
import { isContainerName } from './containers/name.ts'
import type { IsInside } from './containers/processes.ts'
import { BadPid, parsePid } from './options.ts'

/** No process id was given, and there is no terminal to ask. */
export class NoPid extends UsageError {
  static sample = () => new NoPid([])
  readonly hint: string
  constructor(jvms: readonly Jvm[]) {
    super('no process id was given')
    const some = attachable(jvms)
    this.hint = some === '' ? 'List the running JVMs: jfluid ps' : `Give a process id: ${some}`
  }
}

type Named = Pick<Jvm, 'pid' | 'mainClass'>

/** Several JVMs have this main class. */
export class AmbiguousName extends UsageError {
  static sample = () =>
    new AmbiguousName('acme', [
      { pid: 4711, mainClass: 'com.acme.A' },
      { pid: 4712, mainClass: 'com.acme.B' },
    ])
  readonly hint: string
  constructor(name: string, jvms: readonly Named[]) {
    super(`'${name}' matches ${jvms.length} JVMs`)
    this.hint = `Give the process id: ${described(jvms)}`
  }
}

/** A client of the proxy named a JVM that does not exist on this machine. The hint lists the JVMs, since the client cannot list them. */
export class NoJvmThere extends UsageError {
  static sample = () => new NoJvmThere('acme', [])
  readonly hint: string
  constructor(text: string, jvms: readonly Jvm[]) {
    super(
      text === ''
        ? 'the address has no process id and no main class'
        : `'${text}' matches no JVM on that machine`,
    )
    const some = attachable(jvms)
    this.hint =
      some === ''
        ? 'Run the proxy as the user of the JVM, or as root: it finds no JVM that it can attach to.'
        : `Give one of the JVMs on that machine: ${some}`
  }
}

/** No JVM is visible in the container. The container may contain JVMs that this user cannot see. */
export class NoJvmInside extends JfluidError {
  static sample = () => new NoJvmInside('container:shop', true)
  readonly exitCode = EX_NOHOST
  readonly hint: string
  constructor(name: string, isRoot = process.geteuid?.() === 0) {
    super(`no JVM found in ${name}`)
    this.hint = isRoot
      ? 'Wait until the JVM has started, or list the running JVMs: jfluid ps'
      : 'List the JVMs of all users as root: sudo jfluid ps'
  }
}

/** The user left the picker without a choice. */
export class NothingPicked extends JfluidError {
  static sample = () => new NothingPicked()
  readonly exitCode = EX_NOHOST
  readonly hint = 'Start the command again, or give a process id.'
  constructor() {
    super('no JVM was chosen')
  }
}

/** Maximum number of JVMs in a hint, which is a single line. */
const MAX_NAMED_JVMS = 5

function described(jvms: readonly Named[]): string {
  const more = jvms.length > MAX_NAMED_JVMS ? ', …' : ''
  return (
    jvms
      .slice(0, MAX_NAMED_JVMS)
      .map(({ pid, mainClass }) => `${pid} (${mainClass ?? '?'})`)
      .join(', ') + more
  )
}

function attachable(jvms: readonly Jvm[]): string {
  return described(jvms.filter((it) => it.attachable === true))
}

/**
 * Returns the process id of the JVM.
 *
 * @param text    a process id, a main class or a part of its name, or a container; undefined to ask the user
 * @param isHere  whether the user is at this terminal and can choose among several JVMs; false for a client of a proxy
 * @throws BadPid, AmbiguousName, NoPid, NothingPicked, NoJvmInside, JvmElsewhere, and errors of `insideContainer`
 */
export async function targetOf(text: string | undefined, isHere = true): Promise<number> {
  if (text === undefined) return await picked()
  checkHere(text, 'this command')
  if (isContainerName(text)) return await pidInside(text, isHere)
  return /^\d*$/.test(text) ? parsePid(text) : pidNamed(text, listJvms())
}

/**
 * Like `targetOf`, for a client on another machine.
 *
 * @throws NoJvmThere, AmbiguousName, NoJvmInside, and errors of `insideContainer`
 */
export async function targetFromAfar(text: string): Promise<number> {
  try {
    return await targetOf(text, false)
  } catch (error) {
    throw error instanceof BadPid ? new NoJvmThere(text, listJvms()) : error
  }
}

/** @throws JvmElsewhere, BadAddress: a text that may be either an address or a main class is treated as an address */
export function checkHere(text: string, what: string): void {
  const address = remoteAddress(text)
  if (address !== null) throw new JvmElsewhere(text, what, loginTo(address))
}

/** Returns the JVM of a container. If there are several, the user chooses one on a terminal. */
async function pidInside(name: string, isHere: boolean): Promise<number> {
  const { isInside, jvms } = await lookInside(name)
  if (jvms.length === 1) return jvms[0]!.pid
  if (isHere && isAsked()) return await picked(isInside)
  throw new AmbiguousName(name, jvms)
}

/**
 * Returns all JVMs of a container, or of several containers with that name. The result is never empty.
 *
 * @throws NoJvmInside, and errors of `insideContainer`
 */
export async function lookInside(name: string): Promise<{ isInside: IsInside; jvms: readonly Jvm[] }> {
  const { insideContainer } = await import('./containers/named.ts')
  const isInside = await insideContainer(name)
  const jvms = listJvms().filter(({ pid }) => isInside(pid))
  if (jvms.length === 0) throw new NoJvmInside(name)
  return { isInside, jvms }
}

/**
 * Returns the only JVM with that name. `jvmsNamed` describes the matching.
 *
 * @throws BadPid if there is none, AmbiguousName if there are several
 */
export function pidNamed(name: string, jvms: readonly Jvm[]): number {
  const [found, ...others] = jvmsNamed(name, jvms)
  if (found === undefined) throw new BadPid(name)
  if (others.length > 0) throw new AmbiguousName(name, [found, ...others])
  return found.pid
}

/**
 * Returns the JVMs whose main class matches: by the full name, otherwise by the simple name, otherwise by a part of the name. Case is
 * ignored except for full names. A pattern with `*` (any text) must match the whole name, or the simple name if the pattern contains no
 * dot.
 */
export function jvmsNamed<J extends Pick<Jvm, 'mainClass'>>(name: string, jvms: readonly J[]): readonly J[] {
  for (const isMeant of name.includes('*') ? [globbed(name)] : ranked(name)) {
    const found = jvms.filter(({ mainClass }) => mainClass !== undefined && isMeant(mainClass))
    if (found.length > 0) return found
  }
  return []
}

/** Returns the JVMs with exactly this main class. */
export function jvmsWithMainClass(mainClass: string, jvms: readonly Jvm[]): readonly Jvm[] {
  return jvms.filter((it) => it.mainClass === mainClass)
}

type IsMeant = (mainClass: string) => boolean

/** Returns the matching rules for a name, the strictest rule first. */
function ranked(name: string): readonly IsMeant[] {
  const lower = name.toLowerCase()
  return [
    (it) => it === name,
    (it) => simpleName(it).toLowerCase() === lower,
    (it) => it.toLowerCase().includes(lower),
  ]
}

function globbed(pattern: string): IsMeant {
  const parts = pattern.split(/\*+/).map((it) => it.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  const expression = new RegExp(`^${parts.join('.*')}$`, 'is')
  const hasDot = pattern.includes('.')
  return (it) => expression.test(it) || (!hasDot && expression.test(simpleName(it)))
}

function simpleName(mainClass: string): string {
  return mainClass.slice(mainClass.lastIndexOf('.') + 1)
}

function isAsked(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true && process.env.TERM !== 'dumb'
}

/** @param isMeant  filter for the list */
async function picked(isMeant: IsInside = () => true): Promise<number> {
  if (!isAsked()) throw new NoPid(listJvms())
  // Raw mode is set before the list is loaded: the list receives keys typed during loading, including Ctrl-C.
  process.stdin.setRawMode(true)
  try {
    const { pickJvm } = await loadPicker()
    const { pid } = await pickJvm(looks(isMeant))
    if (pid === null) throw new NothingPicked()
    return pid
  } finally {
    process.stdin.setRawMode(false)
  }
}

/** Loads the picker with `CI` set to false. With `CI` set, Ink draws only its last frame, and some users set `CI` in their shells. */
async function loadPicker() {
  const { CI, CONTINUOUS_INTEGRATION } = process.env
  process.env.CI = process.env.CONTINUOUS_INTEGRATION = 'false'
  try {
    return await import('../tui/jvm-picker.tsx')
  } finally {
    restore('CI', CI)
    restore('CONTINUOUS_INTEGRATION', CONTINUOUS_INTEGRATION)
  }
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

/** @returns a function that lists the JVMs repeatedly, with the processor use of each since the previous list */
function looks(isMeant: IsInside): () => JvmRow[] {
  let before = new Map<number, number>()
  let at = performance.now()
  return () => {
    const now = performance.now()
    const spent = new Map<number, number>()
    const meant = listJvms().filter(({ pid }) => isMeant(pid))
    const rows = meant.map(({ pid, user, attachable, mainClass = '?', version = '?' }): JvmRow => {
      const [old, cpuMs] = [before.get(pid), readCpuMs(pid)]
      if (cpuMs !== undefined) spent.set(pid, cpuMs)
      const cpu = old === undefined || cpuMs === undefined ? undefined : (cpuMs - old) / (now - at)
      return { pid, user, attachable, mainClass, version, cpu }
    })
    before = spent
    at = now
    return rows
  }
}
