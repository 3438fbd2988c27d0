// The JVMs of this machine, for `jfluid ps`, and the containers that they are in.
//
// A process counts when it has a libjvm mapped. Where we may not see that (another user's process),
// hsperfdata of its pid or a program named `java` will do. Looks only: nothing is signalled.

import { readdirSync } from 'node:fs'
import { textOf } from '../base/visible.ts'
import { attachProblem, type Client, looksLikeJvm, type TargetFacts, thisClient } from './admission.ts'
import { isJavaLauncher, mainClassOf, parseJavaCommand } from './java-command.ts'
import { readTargetFacts } from './target-facts.ts'

export interface Jvm {
  pid: number
  /** Name of the user, or its number when it has none here. */
  user: string
  uid: number
  /** `java.version`, such as 17.0.15; `undefined` when it cannot be told. */
  version: string | undefined
  /** `java.vm.name`, such as OpenJDK 64-Bit Server VM. */
  vm: string | undefined
  /** Main class, or the name of the jar without its directory; no arguments. */
  mainClass: string | undefined
  /** Main class or jar as started, with arguments. */
  command: string | undefined
  /** As `docker:3f2a91c0bd1e`, where its control group tells. */
  container: string | undefined
  /** `true`, or why not in a few words. */
  attachable: true | string
}

/** All JVMs we can see, by pid. */
export function listJvms(client: Client = thisClient()): Jvm[] {
  const users = userNames()
  const jvms: Jvm[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const facts = readTargetFacts(Number(name))
    if (facts === undefined || facts.process.state === 'Z') continue
    const { executable, commandLine } = facts.process
    if (looksLikeJvm(facts) ?? isJavaLauncher(executable, commandLine)) {
      jvms.push(describeJvm(facts, client, users))
    }
  }
  return jvms.sort((a, b) => a.pid - b.pid)
}

/** One JVM as `listJvms` shows it. */
export function describeJvm(facts: TargetFacts, client: Client, users = userNames()): Jvm {
  const { process, perf } = facts
  const started = parseJavaCommand(process.commandLine)
  const container = containerOf(process.pid)
  return {
    pid: process.pid,
    user: users.get(process.euid) ?? String(process.euid),
    uid: process.euid,
    version: facts.javaVersion,
    vm: perf?.vmName ?? (process.vmLibrary?.kind === 'openj9' ? 'Eclipse OpenJ9' : undefined),
    mainClass: mainClassOf(perf?.javaCommand, process.commandLine),
    command: perf?.javaCommand ?? (started.main && [started.main, ...started.args].join(' ')),
    container: container && containerLabel(container),
    attachable: attachProblem(facts, client)?.reason ?? true,
  }
}

/** Names in /etc/passwd by uid. Users from elsewhere (LDAP) are shown by number. */
function userNames(): Map<number, string> {
  const names = new Map<number, string>()
  for (const line of (textOf('/etc/passwd') ?? '').split('\n')) {
    const [name, , uid] = line.split(':')
    if (name && uid && !names.has(Number(uid))) names.set(Number(uid), name)
  }
  return names
}

// A container is told by the path of its control group: who makes containers puts an id, or a name, into it.
//
//   0::/system.slice/docker-<64 hex>.scope                     Docker with systemd; also a line for each controller (version 1)
//   0::/docker/<64 hex>                                        Docker without
//   0::/machine.slice/libpod-<64 hex>.scope                    Podman; a scope below it may be called container
//   0::/kubepods.slice/…/cri-containerd-<64 hex>.scope         Kubernetes with containerd; crio- with CRI-O
//   0::/kubepods/burstable/pod<uid>/<64 hex>                   Kubernetes without systemd
//   0::/lxc.payload.<name>   0::/lxc/<name>                    LXC
//   0::/machine.slice/machine-<name>.scope                     systemd-nspawn; the name is escaped as systemd's are
//
// A process in a control group namespace of ours or below shows a path below it: from inside, one's own container is not told.

export interface ContainerOf {
  /** docker, podman, containerd, crio, kubernetes, lxc, nspawn; container: some other. */
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
    // The innermost: a node of Kubernetes may be a container itself.
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

/** systemd writes bytes that a unit's name may not have as \x2d. */
function unescapeUnit(name: string): string {
  return name.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Undefined as well where the kernel has no control groups, or the process has ended. */
export function containerOf(pid: number): ContainerOf | undefined {
  return parseContainerOf(textOf(`/proc/${pid}/cgroup`) ?? '')
}

/** As a user reads it and may give it: `docker:3f2a91c0bd1e`, of an id the 12 digits that everybody shows. */
export function containerLabel({ runtime, id }: ContainerOf): string {
  return `${runtime}:${/^[0-9a-f]{64}$/.test(id) ? id.slice(0, 12) : id}`
}
