import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { isLeftover, recordingName } from '../../../src/session/sampling/recording-names.ts'

it('a flight recording of an ended client or of this process is a leftover, and a recording of another running process is not a leftover', () => {
  const ours = recordingName()
  expect(recordingName()).not.toBe(ours)
  expect(isLeftover(ours)).toBe(true)
  const [, namespace] = ours.split('-')
  const { pid: gone } = spawnSync('true')
  expect(isLeftover(`jfluid-${namespace}-${gone}-abc123`)).toBe(true)
  expect(isLeftover(`jfluid-${namespace}-${process.ppid}-abc123`)).toBe(false)
  // In another container this process id belongs to another process.
  expect(isLeftover(`jfluid-1${namespace}-${gone}-abc123`)).toBe(false)
  expect(isLeftover('others')).toBe(false)
})
