// Facts about a JVM for `jfluid doctor`, read from outside: files under /proc, the runtime's `release` file, and the options that the JVM
// was started with. No signal is sent and no socket is opened, so the JVM is not affected.
// An unreadable fact is `undefined`.

import { linkOf, namesIn, textOf } from '../base/visible.ts'
import { optionsOf, releaseValue } from './target-facts.ts'
import { readThreadNames, type TargetProcess } from './target-process.ts'

/** Kinds of namespaces that are compared with jfluid's own namespaces. */
const NAMESPACES = ['pid', 'mnt', 'user'] as const
const CLOCK_SOURCE = '/sys/devices/system/clocksource/clocksource0/current_clocksource'

export interface Circumstances {
  /** Namespaces that the process does not share with jfluid; undefined if unreadable. */
  readonly otherNamespaces: readonly (typeof NAMESPACES)[number][] | undefined
  /** Options of the JVM, from its command line, environment and argument files, in the order in which HotSpot applies them. */
  readonly options: readonly string[]
  /** Modules of the JVM's runtime image; undefined if there is no `release` file. */
  readonly modules: ReadonlySet<string> | undefined
  /** File names of the libraries that the JVM has mapped, such as libinstrument.so. */
  readonly libraries: ReadonlySet<string> | undefined
  /** Kernel names of the JVM's threads, cut to 15 characters. */
  readonly threads: ReadonlySet<string>
  readonly threadCount: number
  /** Whether the process has a file of this name open; `deleted`: the file was removed or replaced after it was opened. */
  openFile(name: string): 'open' | 'deleted' | undefined
  /** Clock source of the kernel: tsc, kvm-clock, hpet, … */
  readonly clockSource: string | undefined
  /** Processor architecture, as Node.js names it: x64, arm64, … */
  readonly architecture: string
}

export function readCircumstances(target: TargetProcess): Circumstances {
  const { pid } = target
  const status = textOf(`/proc/${pid}/status`) ?? ''
  const maps = textOf(`/proc/${pid}/maps`)
  const openFiles = (namesIn(`/proc/${pid}/fd`) ?? []).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`) ?? '')
  return {
    otherNamespaces:
      linkOf(`/proc/${pid}/ns/mnt`) === undefined
        ? undefined
        : NAMESPACES.filter((kind) => isOther(pid, kind)),
    options: optionsOf(target),
    modules: modulesOf(releaseValue(target, 'MODULES')),
    libraries: maps === undefined ? undefined : librariesIn(maps),
    threads: readThreadNames(pid),
    threadCount: Number(/^Threads:\s*(\d+)/m.exec(status)?.[1] ?? 0),
    openFile: (name) => openAs(name, openFiles),
    clockSource: textOf(CLOCK_SOURCE)?.trim(),
    architecture: process.arch,
  }
}

/** Returns the module names in the MODULES line of a `release` file; undefined if the line is undefined. */
function modulesOf(line: string | undefined): ReadonlySet<string> | undefined {
  return line === undefined ? undefined : new Set(line.split(' ').filter(Boolean))
}

/** Returns the file names of the shared objects in /proc/<pid>/maps. */
export function librariesIn(maps: string): Set<string> {
  return new Set([...maps.matchAll(/\/([^/\n]+\.so(?:\.[\d.]+)?)(?: \(deleted\))?$/gm)].map((it) => it[1]))
}

const DELETED = ' (deleted)'

/** @param links  targets of the links in /proc/<pid>/fd */
export function openAs(name: string, links: readonly string[]): 'open' | 'deleted' | undefined {
  const isOpen = (it: string) => it === name || it.endsWith(`/${name}`)
  if (links.some(isOpen)) return 'open'
  return links.some((it) => it.endsWith(DELETED) && isOpen(it.slice(0, -DELETED.length)))
    ? 'deleted'
    : undefined
}

function isOther(pid: number, kind: string): boolean {
  const theirs = linkOf(`/proc/${pid}/ns/${kind}`)
  const ours = linkOf(`/proc/self/ns/${kind}`)
  return theirs !== undefined && ours !== undefined && theirs !== ours
}
