// The JVMs of this machine, for `jfluid ps`.
//
// A process counts when it has a libjvm mapped. Where we may not see that (another user's process),
// hsperfdata of its pid or a program named `java` will do. Looks only: nothing is signalled.

import { readdirSync } from 'node:fs'
import { textOf } from '../base/visible.ts'
import { attachProblem, type Client, looksLikeJvm, type TargetFacts, thisClient } from './admission.ts'
import { containerLabel, containerOf } from './container-of.ts'
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
