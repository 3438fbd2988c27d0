import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { lessBackgroundWorkFlags } from '../../src/base/less-background-work.ts'

const flags = lessBackgroundWorkFlags(Number.parseInt(process.versions.node, 10))

/** Calls of `hash` before the flags are set. V8 has then given the function a budget by its default flags. */
const CALLS_BEFORE = 300
const MAX_CALLS = 300_000

/** Calls one method again and again, and prints the number of calls after each hundred. Then executes one long loop. */
const program = (set: readonly string[]) => `
  const { writeSync } = require('node:fs')
  function hash(i) { let sum = i % 7; sum ^= i * 3; sum = (sum * 31 + i) | 0; return sum + ((i >> 2) & 15) - ((i >> 3) & 7) }
  function longLoop(turns) { let sum = 0; for (let i = 0; i < turns; i++) sum = (sum * 31 + (i >> 3)) | 0; return sum }
  let all = 0
  for (let i = 0; i < ${CALLS_BEFORE}; i++) all += hash(i)
  for (const flag of ${JSON.stringify(set)}) require('node:v8').setFlagsFromString(flag)
  for (let hundreds = 1; hundreds <= ${MAX_CALLS / 100}; hundreds++) {
    for (let i = 0; i < 100; i++) all += hash(i)
    writeSync(1, hundreds * 100 + ' calls\\n')
  }
  all += longLoop(3e7)`

/**
 * Returns the number of calls, after the flags were set, before V8 optimizes the method; MAX_CALLS if it does not optimize it. `isLoop`:
 * whether it optimizes the loop. `errors`: V8's errors about unknown flags.
 */
function optimized(set: readonly string[]) {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    // Compilation in the same thread needs no wait.
    ['--trace-opt', '--no-concurrent-recompilation', '--eval', program(set)],
    { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' }, maxBuffer: 16 << 20 },
  )
  const done = /completed (?:compiling|optimizing) .*<JSFunction /
  const [before] = stdout.split(new RegExp(`${done.source}hash `))
  const after = Number([...before!.matchAll(/^(\d+) calls$/gm)].at(-1)?.[1])
  return { after, isLoop: new RegExp(`${done.source}longLoop `).test(stdout), errors: stderr }
}

test('this release of Node.js knows the flags, and they apply to a method that was called before', () => {
  expect(flags.length).toBeGreaterThan(1)
  const [usual, less] = [optimized([]), optimized(flags)]
  expect([usual.errors, less.errors]).toEqual(['', ''])
  expect(usual.after).toBeLessThan(10_000)
  expect(less.after).toBeGreaterThan(10 * usual.after)
  expect(less.after).toBeGreaterThan(50_000)
  expect([usual.isLoop, less.isLoop]).toEqual([true, true])
})

/** Fills the heap. Returns how many markings of the heap began before the heap had reached its limit. */
function earlyMarkings(set: readonly string[]): number {
  const filling = `
    for (const flag of ${JSON.stringify(set)}) require('node:v8').setFlagsFromString(flag)
    const kept = []
    for (let i = 0; i < 2e6; i++) kept.push({ i, text: 'x' + i })`
  const { stdout } = spawnSync(process.execPath, ['--trace-gc', '--eval', filling], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  expect(stdout).toContain('Scavenge')
  return stdout.match(/Mark-Compact .*since start of marking/g)?.length ?? 0
}

test('the heap is marked only when it has reached its limit', () => {
  expect(earlyMarkings([])).toBeGreaterThan(0)
  expect(earlyMarkings(flags)).toBe(0)
})

test('an untested release of Node.js gets no flags', () => {
  expect(lessBackgroundWorkFlags(99)).toEqual([])
  expect(lessBackgroundWorkFlags(20)).not.toEqual(lessBackgroundWorkFlags(21))
})
