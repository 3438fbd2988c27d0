// Mutated messages of a client. Classes of the agent run alone in a JVM, and refuse or answer each message, within a time limit and
// without more heap than the size of the message.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { encodeFrame } from '../../src/wire/frame.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { jarEntries } from '../support/jar.ts'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { inputs, keepInputs, LONG_MS, mostMs, SOON_MS, seedOf } from './mutate.ts'

const JAR = fileURLToPath(new URL('../../dist/agent/jfluid-agent.jar', import.meta.url))
const DRIVER = fileURLToPath(new URL('../fixtures/fuzz/FuzzAgent.java', import.meta.url))

const BODY = Buffer.from('00020001000000042ab70001b100000000', 'hex')

/** Inputs of the driver, keyed by the name in its output line. */
const WHAT: Readonly<Record<string, string>> = {
  messages: 'messages of a client',
  connections: 'connections of a client, three messages each',
  splices: 'class files, bodies and pool entries to be put into them',
}

/** One message of each kind that a client sends. */
const MESSAGES: readonly (readonly unknown[])[] = [
  [1, 'hello'],
  [
    2,
    'configure',
    '/dev/shm/jfluid-1-2-abcdef/ring',
    32768,
    512,
    8192,
    '/tmp/hsperfdata_me/7',
    123_456,
    [],
    false,
    true,
    false,
    true,
  ],
  [3, 'loadedClasses'],
  [4, 'classBytes', [1, 2, 70_000, -1]],
  [5, 'mirrorWords', 8, [1, 2, 3]],
  [6, 'peek', 64, Buffer.alloc(80, 0x7f)],
  [7, 'extendConstantPool', 5, -123_456_789, 3, Buffer.from('0100036162630700010c00020003', 'hex')],
  [
    8,
    'redefineMethods',
    [
      [5, 2, BODY],
      [6, 70_000, Buffer.alloc(700, 7)],
    ],
    [1, 2, 3],
    4_000_000,
  ],
  [11, 'calibrate', 80, 400],
  [12, 'sampling', true, 2 ** 40, 12_345],
  [13, 'allocations', 100, true],
  [
    14,
    'names',
    [
      [1, 'fix.Ünï', 'cödé', '()V'],
      [2, 'x'.repeat(300), '', '(I)I'],
    ],
  ],
  [15, 'frames', [[1, 'fix.A', 'run', '()V', true, [1, 2], [3, 4], 5]]],
  [0, 'loadHook', 7, 2, BODY, [[1, BODY]], [1, 2], 9],
  [0, 'reflected', 3],
  [16, 'watch', false],
  [17, 'detach'],
]

// `npm run test:live` tests an authenticated client that sends invalid data: faults/hostile.jvm.test.ts.
forNewestJdk((jdk) => {
  it('the agent answers or refuses slightly damaged messages', { timeout: LONG_MS }, async () => {
    const dir = temporaryDirectory()
    for (const { path, bytes } of jarEntries(JAR, /^(agent|runtime)\/.*\.class$/)) {
      mkdirSync(join(dir, dirname(path)), { recursive: true })
      writeFileSync(join(dir, path), bytes)
    }
    const agent = join(dir, 'agent')
    const driver = await compileJava(jdk, {}, { options: ['-cp', agent, DRIVER] })
    const frames = join(dir, 'frames')
    writeFileSync(frames, Buffer.concat(MESSAGES.map((it) => encodeFrame(it))))
    const ticker = join(await compileFixture(jdk, 'Ticker'), 'fix/Ticker.class')
    const seed = seedOf()
    const times = [inputs(100_000, 10_000_000), inputs(1000, 500_000), inputs(20_000, 2_000_000)]
    const args = [frames, seed, ...times, ticker, dir, mostMs(times.length)].map(String)
    // As in a target, the runtime is a part of java.base.
    const options = ['-Xmx64m', '--patch-module', `java.base=${join(dir, 'runtime')}`]
    const java = startJava(jdk, [...options, '-cp', `${agent}:${driver}`, 'jfluid.agent.FuzzAgent', ...args])
    const { code } = await java.exit
    const told = `JFLUID_SEED=${seed}\n${java.stdout()}${java.stderr()}`
    console.info(`JDK ${jdk.version}, ${told}`)
    expect(code, told).toBe(0)
    const rows = java
      .stdout()
      .trim()
      .split('\n')
      .map((it) => it.split(' '))
    expect(rows.map(([what]) => what)).toEqual(['messages', 'connections', 'splices'])
    rows.forEach(([what, ...numbers], i) => {
      const [tried, refused, micros, most] = numbers.map(Number)
      const longestMs = micros! / 1000
      const isRight = longestMs < SOON_MS && most! < 1 << 20
      const figures = { 'heap of one': [most! / 1024, 'KiB'] } as const
      keepInputs(WHAT[what!]!, jdk.full, { tried: tried!, refused: refused!, longestMs, isRight }, figures)
      expect(tried).toBeGreaterThan(0)
      expect(tried).toBeLessThanOrEqual(times[i]!)
      expect(refused).toBeGreaterThan(0)
      expect(refused).toBeLessThan(tried!)
      expect(longestMs, told).toBeLessThan(SOON_MS)
      expect(most, told).toBeLessThan(1 << 20)
    })
  })
})
