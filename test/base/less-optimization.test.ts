import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { fewerOptimizations } from '../../src/base/less-optimization.ts'

const flags = fewerOptimizations(Number.parseInt(process.versions.node, 10))

/** Calls one method again and again, and prints the number of calls after each hundred. */
const PROGRAM = `
  const { writeSync } = require('node:fs')
  function hash(i) { let sum = i % 7; sum ^= i * 3; sum = (sum * 31 + i) | 0; return sum + ((i >> 2) & 15) - ((i >> 3) & 7) }
  let all = 0
  for (let hundreds = 1; hundreds <= 3000; hundreds++) {
    for (let i = 0; i < 100; i++) all += hash(i)
    writeSync(1, hundreds * 100 + ' calls\\n')
  }`

/** Returns the number of calls before V8 optimizes the method, and V8's errors about unknown flags. */
function optimized(set: readonly string[]): { readonly after: number; readonly errors: string } {
  const lines = set.map((flag) => `require('node:v8').setFlagsFromString(${JSON.stringify(flag)})\n`)
  const { stdout, stderr } = spawnSync(
    process.execPath,
    // Compilation in the same thread needs no wait.
    ['--trace-opt', '--no-concurrent-recompilation', '--eval', lines.join('') + PROGRAM],
    { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } },
  )
  const [before, end] = stdout.split(/completed (?:compiling|optimizing) .*<JSFunction hash /)
  expect(end).toBeDefined()
  return { after: Number([...before!.matchAll(/^(\d+) calls$/gm)].at(-1)?.[1]), errors: stderr }
}

test('this release of Node.js knows the flags: a method is optimized after more calls', () => {
  expect(flags.length).toBeGreaterThan(0)
  const [usual, less] = [optimized([]), optimized(flags)]
  expect([usual.errors, less.errors]).toEqual(['', ''])
  expect(less.after).toBeGreaterThan(4 * usual.after)
})

test('an untested release of Node.js gets no flags', () => {
  expect(fewerOptimizations(99)).toEqual([])
  expect(fewerOptimizations(20)).not.toEqual(fewerOptimizations(22))
})
