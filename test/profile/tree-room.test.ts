// Warnings about threads of the JVM without room for their trees.

import { expect, it } from 'vitest'
import { treeRoomWarning } from '../../src/profile/gaps.ts'
import { reportWarnings } from '../../src/profile/report/warnings.ts'
import { profileOf } from './trees.ts'

const profileWith = (warnings: string[]) => {
  const profile = profileOf('main 2x 10ns', { warnings })
  return { ...profile, instrumentation: { ...profile.instrumentation, gaps: 4 } }
}

it('the warning names the directory if its file system is full, and the error code after any other error', () => {
  expect(treeRoomWarning(257_810, 'ENOSPC', '/dev/shm')).toBe(
    "the trees of the JVM's threads are limited to 257,810 contexts, and further calls are missing, because the event buffer could not grow (its file system is full): free some space in /dev/shm before the next recording",
  )
  expect(treeRoomWarning(257_810, 'EIO', '/tmp')).toMatch(
    /could not grow \(EIO\): free some space in \/tmp before the next recording$/,
  )
})

it('the message about the limit of contexts suggests another root or exclusions', () => {
  expect(treeRoomWarning(2_080_768, null, '/dev/shm')).toBe(
    "the trees of the JVM's threads are limited to 2,080,768 contexts, and further calls are missing: choose a root that calls less, or --exclude recursive methods",
  )
})

it('if threads had no space for their trees, the warning about gaps says that space was missing', () => {
  const gapsOf = (warnings: string[]) =>
    reportWarnings(profileWith(warnings)).find((it) => it.startsWith('4 gaps'))
  expect(gapsOf([])).toBe('4 gaps: calls are missing of methods that ran before they were instrumented')
  const ofEarlierBuild =
    "the trees of the JVM's threads had room for 127 contexts, and calls for which there was none are missing"
  for (const warning of [treeRoomWarning(127, null, ''), ofEarlierBuild]) {
    expect(gapsOf([warning])).toMatch(/^4 gaps: calls are missing for lack of space in the event buffer/)
  }
})
