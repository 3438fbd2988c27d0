// What else can be seen of a JVM from outside, for `jfluid doctor`: files under /proc, the runtime's `release` file and the
// options it was started with. Nothing is signalled, no socket is opened, and the JVM does not notice.
//
// A fact that we may not read is `undefined`.

import { linkOf, namesIn, textOf } from '../base/visible.ts'
import { optionsOf, releaseValue } from './target-facts.ts'
import { readThreadNames, type TargetProcess } from './target-process.ts'

/** Kinds of namespaces that make a container, and a difference to us. */
const NAMESPACES = ['pid', 'mnt', 'user'] as const
const CLOCK_SOURCE = '/sys/devices/system/clocksource/clocksource0/current_clocksource'

export interface Circumstances {
  /** Namespaces that it does not share with us; undefined where we may not look. */
  readonly otherNamespaces: readonly (typeof NAMESPACES)[number][] | undefined
  /** Options of the JVM, environment and argument files included, in the order in which they are applied. */
  readonly options: readonly string[]
  /** Modules of its runtime image; undefined where there is no `release` file to tell. */
  readonly modules: ReadonlySet<string> | undefined
  /** Names of the libraries that it has mapped, such as libinstrument.so. */
  readonly libraries: ReadonlySet<string> | undefined
  /** The kernel's names of its threads: 15 characters of each. */
  readonly threads: ReadonlySet<string>
  readonly threadCount: number
  /** Whether a file of that name is open in it; `deleted`: one that has been removed, or replaced, since it was opened. */
  openFile(name: string): 'open' | 'deleted' | undefined
  /** Of the kernel: tsc, kvm-clock, hpet, … */
  readonly clockSource: string | undefined
}

export function readCircumstances(process: TargetProcess): Circumstances {
  const { pid } = process
  const status = textOf(`/proc/${pid}/status`) ?? ''
  const maps = textOf(`/proc/${pid}/maps`)
  const openFiles = (namesIn(`/proc/${pid}/fd`) ?? []).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`) ?? '')
  return {
    otherNamespaces:
      linkOf(`/proc/${pid}/ns/mnt`) === undefined
        ? undefined
        : NAMESPACES.filter((kind) => isOther(pid, kind)),
    options: optionsOf(process),
    modules: modulesOf(releaseValue(process, 'MODULES')),
    libraries: maps === undefined ? undefined : librariesIn(maps),
    threads: readThreadNames(pid),
    threadCount: Number(/^Threads:\s*(\d+)/m.exec(status)?.[1] ?? 0),
    openFile: (name) => openAs(name, openFiles),
    clockSource: textOf(CLOCK_SOURCE)?.trim(),
  }
}

/** Words of a `release` file's line; an image without that line says nothing. */
function modulesOf(line: string | undefined): ReadonlySet<string> | undefined {
  return line === undefined ? undefined : new Set(line.split(' ').filter(Boolean))
}

/** File names of the shared objects in /proc/<pid>/maps. */
export function librariesIn(maps: string): Set<string> {
  return new Set([...maps.matchAll(/\/([^/\n]+\.so(?:\.[\d.]+)?)(?: \(deleted\))?$/gm)].map((it) => it[1]))
}

const DELETED = ' (deleted)'

/** @param links  what /proc/<pid>/fd leads to */
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
