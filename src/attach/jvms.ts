// Lists the JVMs of this machine for `jfluid ps`, with their containers.
// A process is listed if it has mapped a libjvm, or is a native image, since users search for native images among the JVMs. If its maps are
// unreadable (another user's process), it is listed if it has hsperfdata or its program is named `java`. Read-only: no process is signalled.

import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { textOf } from '../base/visible.ts'
import {
  attachProblem,
  type Client,
  isNativeImage,
  looksLikeJvm,
  type TargetFacts,
  thisClient,
} from './admission.ts'
import { isJavaLauncher, type JavaCommand, mainClassOf, parseJavaCommand } from './java-command.ts'
import { readTargetFacts } from './target-facts.ts'
import type { TargetProcess } from './target-process.ts'

export interface Jvm {
  pid: number
  /** User name, or the uid if the name is unknown on this machine. */
  user: string
  uid: number
  /** `java.version`, such as 17.0.15; `undefined` if unknown. */
  version: string | undefined
  /** `java.vm.name`, such as OpenJDK 64-Bit Server VM. */
  vm: string | undefined
  /** Main class, or the name of the jar without its directory; no arguments. */
  mainClass: string | undefined
  /** Main class or jar as started, with arguments. */
  command: string | undefined
  /** Container label such as `docker:3f2a91c0bd1e`; undefined if the JVM's control group shows no container. */
  container: string | undefined
  /** Start of the process, in ms since 1970. */
  startedAt: number
  /** `true`, or a short reason why the JVM is not attachable. */
  attachable: true | string
}

/** Returns all visible JVMs, sorted by pid. */
export function listJvms(client: Client = thisClient()): Jvm[] {
  return jvmsWithFacts(client).map(({ jvm }) => jvm)
}

/** Returns all visible JVMs, sorted by pid, with the facts that their descriptions come from. */
export function jvmsWithFacts(
  client: Client = thisClient(),
): { readonly jvm: Jvm; readonly facts: TargetFacts }[] {
  const users = userNames()
  const found: { jvm: Jvm; facts: TargetFacts }[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const facts = readTargetFacts(Number(name))
    if (facts === undefined || facts.process.state === 'Z') continue
    const { executable, commandLine } = facts.process
    if (isNativeImage(facts) || (looksLikeJvm(facts) ?? isJavaLauncher(executable, commandLine))) {
      found.push({ jvm: describeJvm(facts, client, users), facts })
    }
  }
  return found.sort((a, b) => a.jvm.pid - b.jvm.pid)
}

/** Describes one JVM for `listJvms`. */
export function describeJvm(facts: TargetFacts, client: Client, users = userNames()): Jvm {
  const { process, perf } = facts
  const native = isNativeImage(facts)
  const started = native ? nativeCommand(process) : parseJavaCommand(process.commandLine)
  const container = containerOf(process.pid)
  return {
    pid: process.pid,
    user: users.get(process.euid) ?? String(process.euid),
    uid: process.euid,
    version: facts.javaVersion,
    vm: perf?.vmName ?? vmOf(process),
    mainClass: native ? started.main : mainClassOf(perf?.javaCommand, process.commandLine),
    command: perf?.javaCommand ?? (started.main && [started.main, ...started.args].join(' ')),
    container: container && containerLabel(container),
    startedAt: Math.round(process.startedAt),
    attachable: attachProblem(facts, client)?.reason ?? true,
  }
}

/** Returns the name of a VM without performance data; undefined if it may be any HotSpot JVM. */
function vmOf({ vmLibrary, isNativeImage }: TargetProcess): string | undefined {
  if (isNativeImage) return 'GraalVM native image'
  return vmLibrary?.kind === 'openj9' ? 'Eclipse OpenJ9' : undefined
}

/** Returns the program of a native image, which takes the place of the main class, and its arguments. */
function nativeCommand({ executable, commandLine }: TargetProcess): Pick<JavaCommand, 'main' | 'args'> {
  const program = executable ?? commandLine[0]
  return { main: program && basename(program), args: commandLine.slice(1) }
}

/** Reads user names from /etc/passwd, keyed by uid. Users from other sources (LDAP) are shown by number. */
function userNames(): Map<number, string> {
  const names = new Map<number, string>()
  for (const line of (textOf('/etc/passwd') ?? '').split('\n')) {
    const [name, , uid] = line.split(':')
    if (name && uid && !names.has(Number(uid))) names.set(Number(uid), name)
  }
  return names
}

// A container is recognised by its control group's path: the container runtime puts an id or a name into the path.
//
//   0::/system.slice/docker-<64 hex>.scope                     Docker with systemd; cgroup version 1 has one line per controller
//   0::/docker/<64 hex>                                        Docker without systemd
//   0::/machine.slice/libpod-<64 hex>.scope                    Podman; may contain a scope named container
//   0::/kubepods.slice/…/cri-containerd-<64 hex>.scope         Kubernetes with containerd; crio- with CRI-O
//   0::/kubepods/burstable/pod<uid>/<64 hex>                   Kubernetes without systemd
//   0::/lxc.payload.<name>   0::/lxc/<name>                    LXC
//   0::/machine.slice/machine-<name>.scope                     systemd-nspawn; the name has systemd's escapes
//
// Inside jfluid's own cgroup namespace the paths are relative, so jfluid cannot see the container that it runs in.

export interface ContainerOf {
  /** docker, podman, containerd, crio, kubernetes, lxc or nspawn; `container` for any other runtime. */
  readonly runtime: string
  /** An id of 64 hexadecimal digits, or a name. */
  readonly id: string
}

const BY_ID = /(?:^|\/)(?:([a-z-]+)-)?([0-9a-f]{64})(?:\.scope)?(?=\/|$)/g
const RUNTIMES: ReadonlyMap<string, string> = new Map([
  ['docker', 'docker'],
  ['libpod', 'podman'],
  ['cri-containerd', 'containerd'],
  ['nerdctl', 'containerd'],
  ['crio', 'crio'],
])

/** @param cgroup  text of /proc/<pid>/cgroup */
export function parseContainerOf(cgroup: string): ContainerOf | undefined {
  for (const line of cgroup.split('\n')) {
    const path = /^\d+:[^:]*:(.*)$/.exec(line)?.[1] ?? ''
    // The innermost container counts: a Kubernetes node may itself be a container.
    const [, prefix = '', id] = [...path.matchAll(BY_ID)].at(-1) ?? []
    if (id !== undefined) return { runtime: RUNTIMES.get(prefix) ?? runtimeOf(path), id }
    const lxc = /\/lxc(?:\.payload\.|\/)([^/]+)/.exec(path)?.[1]
    if (lxc !== undefined) return { runtime: 'lxc', id: lxc }
    const machine = /\/machine-([^/]+)\.scope/.exec(path)?.[1]
    if (machine !== undefined) return { runtime: 'nspawn', id: unescapeUnit(machine) }
  }
  return undefined
}

function runtimeOf(path: string): string {
  if (/\/docker\//.test(path)) return 'docker'
  return /\/kubepods/.test(path) ? 'kubernetes' : 'container'
}

/** Decodes systemd's escapes: a byte that is not allowed in a unit name is written as \x2d. */
function unescapeUnit(name: string): string {
  return name.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Returns the container of a process; undefined if it has none or has ended, or if the kernel has no control groups. */
export function containerOf(pid: number): ContainerOf | undefined {
  return parseContainerOf(textOf(`/proc/${pid}/cgroup`) ?? '')
}

/** Returns the label that users see and may type: `docker:3f2a91c0bd1e`. An id is cut to its usual 12 digits. */
export function containerLabel({ runtime, id }: ContainerOf): string {
  return `${runtime}:${/^[0-9a-f]{64}$/.test(id) ? id.slice(0, 12) : id}`
}
