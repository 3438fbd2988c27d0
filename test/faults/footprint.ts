// Memory of a JVM after a garbage collection. A soak test compares the memory before and after.

import { readFileSync } from 'node:fs'
import { jcmd } from '../live/remains.ts'

export interface Footprint {
  /** Size of live objects, KiB. */
  readonly heapKib: number
  /** Bytes of live objects, keyed by class. */
  readonly objects: ReadonlyMap<string, number>
  readonly metaspaceKib: number
  readonly codeKib: number
  /** Resident memory of the process, KiB. */
  readonly residentKib: number
  /** Number of loaded classes, keyed by name without the numbers of hidden classes. */
  readonly classes: ReadonlyMap<string, number>
}

export async function footprint(pid: number): Promise<Footprint> {
  // The second collection frees objects that waited for their finalizers, and classes that only these objects kept loaded.
  await jcmd(pid, 'GC.class_histogram')
  const histogram = await jcmd(pid, 'GC.class_histogram')
  const objects = new Map<string, number>()
  for (const [, bytes, name] of histogram.matchAll(/^\s*\d+:\s+\d+\s+(\d+)\s+(\S+)/gm)) {
    const plain = name!.replace(/\$\$Lambda.*/, '$$$$Lambda')
    objects.set(plain, (objects.get(plain) ?? 0) + Number(bytes))
  }
  const total = /^Total\s+\d+\s+(\d+)/m.exec(histogram)
  const metaspace = /^\s*Both:\s+([\d.]+) (KB|MB) used/m.exec(await jcmd(pid, 'VM.metaspace basic scale=KB'))
  const heaps = [...(await jcmd(pid, 'Compiler.codecache')).matchAll(/^CodeHeap .* used=(\d+)Kb/gm)]
  if (total === null || metaspace === null || heaps.length === 0)
    throw new Error('the JVM told something else than was expected')
  return {
    heapKib: Math.round(Number(total[1]) / 1024),
    objects,
    metaspaceKib: Math.round(Number(metaspace[1]) * (metaspace[2] === 'MB' ? 1024 : 1)),
    codeKib: heaps.reduce((sum, it) => sum + Number(it[1]), 0),
    residentKib: residentKib(pid),
    classes: await loadedClasses(pid),
  }
}

export function residentKib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
}

async function loadedClasses(pid: number): Promise<Map<string, number>> {
  const classes = new Map<string, number>()
  for (const line of (await jcmd(pid, 'VM.class_hierarchy')).split('\n')) {
    // |--fix.Witness$$Lambda$1/0x000001/0x000002, fix.Witness$$Lambda/0x000001, java.lang.Object/null
    const name = line
      .replace(/^[|\s-]*/, '')
      .replace(/[/+](?:null|0x[0-9a-f]+).*$/, '')
      .replace(/(\$\$Lambda)\$\d+$/, '$1')
    if (name !== '') classes.set(name, (classes.get(name) ?? 0) + 1)
  }
  return classes
}

/** Returns the difference in the number of each class, without classes of equal number. */
export function moreClasses(before: Footprint, now: Footprint): [name: string, more: number][] {
  const names = new Set([...before.classes.keys(), ...now.classes.keys()])
  return [...names]
    .map((it): [string, number] => [it, (now.classes.get(it) ?? 0) - (before.classes.get(it) ?? 0)])
    .filter(([, more]) => more !== 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Returns the live objects that grew by more than `least` bytes, the largest growth first. */
export function moreObjects(
  before: Footprint,
  now: Footprint,
  least: number,
): [name: string, bytes: number][] {
  return [...now.objects]
    .map(([name, bytes]): [string, number] => [name, bytes - (before.objects.get(name) ?? 0)])
    .filter(([, more]) => more > least)
    .sort(([, a], [, b]) => b - a)
}
