// Options of a JVM that change how it runs code, or stores objects and classes.

import { expect } from 'vitest'
import type { DetachFacts } from '../../src/profile/detach-facts.ts'
import type { Jdk } from '../support/jdks.ts'

export interface Option {
  readonly name: string
  readonly options: readonly string[]
  /** First and last version of the JDK with this option. */
  readonly from?: number
  readonly to?: number
  /** Prepares an archive of the service for `options`, which contain ARCHIVE. */
  readonly train?: readonly string[]
  /** Requests per second to the service with this option. Without it, only the small program runs with the option. */
  readonly perSecond?: number
}

/** Usual number of requests per second. */
const USUAL = 20

/** Stands for the path of the archive in options. */
const ARCHIVE = '@archive'

const OPTIONS: readonly Option[] = [
  { name: 'no option', options: [], perSecond: USUAL },
  { name: '-Xint', options: ['-Xint'], perSecond: 5 },
  { name: '-Xcomp', options: ['-Xcomp'] },
  {
    name: '-Xcomp -XX:TieredStopAtLevel=1',
    options: ['-Xcomp', '-XX:TieredStopAtLevel=1'],
    perSecond: USUAL,
  },
  { name: '-XX:TieredStopAtLevel=1', options: ['-XX:TieredStopAtLevel=1'], perSecond: USUAL },
  { name: '-XX:-TieredCompilation', options: ['-XX:-TieredCompilation'] },
  { name: '-XX:+UseSerialGC', options: ['-XX:+UseSerialGC'] },
  { name: '-XX:+UseParallelGC', options: ['-XX:+UseParallelGC'] },
  { name: '-XX:+UseZGC', options: ['-XX:+UseZGC'], perSecond: USUAL },
  {
    name: '-XX:+UseZGC -XX:+ZGenerational',
    options: ['-XX:+UseZGC', '-XX:+ZGenerational'],
    from: 21,
    to: 23,
  },
  { name: '-XX:+UseShenandoahGC', options: ['-XX:+UseShenandoahGC'], perSecond: USUAL },
  {
    name: '-XX:ShenandoahGCMode=generational',
    options: ['-XX:+UseShenandoahGC', '-XX:ShenandoahGCMode=generational'],
    from: 25,
  },
  { name: '-XX:-UseCompressedOops', options: ['-XX:-UseCompressedOops'] },
  {
    name: '-XX:+UseCompactObjectHeaders',
    options: ['-XX:+UseCompactObjectHeaders'],
    from: 25,
    perSecond: USUAL,
  },
  {
    name: '-XX:+UseCompactObjectHeaders -XX:+UseZGC',
    options: ['-XX:+UseCompactObjectHeaders', '-XX:+UseZGC'],
    from: 25,
  },
  {
    name: '-XX:SharedArchiveFile (classes of the program)',
    options: [`-XX:SharedArchiveFile=${ARCHIVE}`, '-Xshare:on'],
    train: [`-XX:ArchiveClassesAtExit=${ARCHIVE}`],
  },
  {
    name: '-XX:+AutoCreateSharedArchive',
    options: ['-XX:+AutoCreateSharedArchive', `-XX:SharedArchiveFile=${ARCHIVE}`],
    train: ['-XX:+AutoCreateSharedArchive', `-XX:SharedArchiveFile=${ARCHIVE}`],
    from: 19,
  },
  {
    name: '-XX:AOTCache',
    options: [`-XX:AOTCache=${ARCHIVE}`, '-XX:AOTMode=on'],
    train: [`-XX:AOTCacheOutput=${ARCHIVE}`],
    from: 25,
    perSecond: USUAL,
  },
  { name: '-Xrs', options: ['-Xrs'] },
]

export const withArchive = (options: readonly string[], archive: string): string[] =>
  options.map((it) => it.replace(ARCHIVE, archive))

/** Returns the options that this JDK has. */
export function optionsOf(jdk: Jdk): readonly Option[] {
  return OPTIONS.filter(
    ({ from = 0, to = Number.POSITIVE_INFINITY }) => jdk.version >= from && jdk.version <= to,
  )
}

/** Expects that the detach is proved: all code is original, and nothing is left. */
export function expectProof(detach: DetachFacts | undefined): void {
  expect(detach).toMatchObject({ refusedClasses: 0, left: [], unseen: [] })
  const { checkedClasses, originalClasses, different, unchecked } = detach!.code
  expect({ different, unchecked, isOriginal: checkedClasses === originalClasses }).toEqual({
    ...{ different: [], unchecked: '', isOriginal: true },
  })
  expect(detach!.restoredClasses).toBeGreaterThan(0)
}
