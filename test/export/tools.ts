// Inputs for other programs, and the output expected from them.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { hotMethods } from '../../src/cct/snapshot.ts'
import { exportToFile, formatNamed } from '../../src/export/formats.ts'
import { nameOf, type Profile } from '../../src/profile/profile.ts'
import { fullName } from '../../src/profile/text.ts'
import { profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { PROFILES, twoThreads } from './exported.ts'

export const METHODS = 12
const SEED = 19

/** Returns a profile of recursive methods, with times of some seconds. */
export function recursive(): Profile {
  const tree = randomTree(3000, METHODS, seeded(SEED))
  const names = Array.from({ length: METHODS }, (_, id) => `m${id} 1x 1ns`).join(' ')
  return profileOfTree(tree, profileOf(names).methodNames, { threads: [{ id: 21, name: 'worker-1', tree }] })
}

export const OF_EVERY_METRIC: readonly (readonly [string, () => Profile])[] = [
  ['times', recursive],
  ['threads', twoThreads],
  ...Object.entries(PROFILES),
]

export async function written(profile: Profile, format: string, threads = false): Promise<string> {
  const of = formatNamed(format)
  const file = join(temporaryDirectory(), `p${of.extension}`)
  await exportToFile(profile, of, file, { threads })
  return file
}

export async function ran(command: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return await ranWith({}, command, ...args)
}

export async function ranWith(
  env: { readonly [name: string]: string },
  command: string,
  ...args: string[]
): Promise<{ stdout: string; stderr: string }> {
  try {
    return await promisify(execFile)(command, args, {
      maxBuffer: 64 << 20,
      env: { ...process.env, LC_ALL: 'C', ...env },
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Error(`${command} is not on PATH: the full tests read exports with it`)
    }
    throw error
  }
}

export interface Sums {
  readonly self: number
  readonly total: number
}

/** Sums of all methods, keyed by name. */
export function ours(profile: Profile): Map<string, Sums> {
  return new Map(
    hotMethods(profile.merged).map(({ method, self, total }) => [
      fullName(nameOf(profile.methodNames, method)),
      { self, total },
    ]),
  )
}
