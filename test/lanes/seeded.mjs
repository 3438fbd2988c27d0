// npm run test:seeded [-- name …]: puts a fault into a copy of the checkout, one at a time, and runs the lanes until one finds it.
//
// A fault that no lane finds is a hole in the tests: exit code 1. Each fault is a text that occurs once in its file and what takes its
// place. The copy has the node_modules of the checkout, and is built anew.

import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** `by` is the first lane that has to find it. */
const FAULTS = [
  {
    name: 'the sign of t_O',
    by: 'unit',
    file: 'src/cct/compensation.ts',
    find: '- callsOut * c.outerTicks\n}',
    put: '+ callsOut * c.outerTicks\n}',
  },
  {
    name: 'an exit that is missing leaves the caller below its callee',
    by: 'unit',
    file: 'src/cct/present-thread.ts',
    find: '        this.node = ints[node * INTS + PARENT]\n        return\n',
    put: '        this.node = node\n        return\n',
  },
  {
    name: 'times beyond 32 bits of ticks lose their high bits',
    by: 'unit',
    file: 'src/cct/present-thread.ts',
    find: '        const ticks = base + (high & HIGH_TICKS) * TWO_32 + words[at]\n        if (ints[node * INTS + METHOD] !== method) {',
    put: '        const ticks = base + words[at]\n        if (ints[node * INTS + METHOD] !== method) {',
  },
  {
    name: 'the ring: a chunk that was read is not given back',
    by: 'unit',
    file: 'src/events/ring-reader.ts',
    find: '    this.#ring.free(chunk, used)\n',
    put: '    void used\n',
  },
  {
    name: 'a root that was never called ends with exit code 0',
    by: 'unit',
    file: 'src/commands/outcome.ts',
    find: '  readonly exitCode = EX_NOROOT\n',
    put: '  readonly exitCode = EX_NOROOT - EX_NOROOT\n',
  },
  {
    name: "a method's own exception handlers begin one byte late",
    by: 'unit',
    file: 'src/instrument/method.ts',
    find: '    out.u2(moved.of(handlerBci))\n',
    put: '    out.u2(moved.of(handlerBci) + 1)\n',
  },
  {
    name: 'the event buffer is readable by others',
    by: 'unit',
    file: 'src/events/ring.ts',
    find: '    fchmodSync(fd, 0o600)\n',
    put: '    fchmodSync(fd, 0o644)\n',
  },
  {
    name: 'a detach restores nothing',
    by: 'smoke',
    file: 'backend-java/agent/jfluid/agent/HotSwap.java',
    find: '        restoring = true;\n        int lambdas = 0;\n',
    put: '        restoring = true;\n        int lambdas = 0;\n        if (restoring) {\n            return new int[] {targets.loaders().size(), 0, lambdas};\n        }\n',
  },
  {
    name: 'a first call waits for the client without a bound',
    by: 'live',
    file: 'backend-java/runtime/java/lang/JFluid1Client.java',
    find: 'LONGEST_NANOS = 1_000_000_000L;',
    put: 'LONGEST_NANOS = 1_000_000_000_000_000L;',
  },
  {
    name: 'the proof of a detach compares nothing',
    by: 'live',
    file: 'src/session/proof.ts',
    find: '      different.push(method.name + method.descriptor)\n',
    put: '      different.slice()\n',
  },
]

const LANES = ['unit', 'smoke', 'live']

const wanted = process.argv.slice(2)
let missed = 0
for (const { name, by, file, find, put } of FAULTS) {
  if (wanted.length > 0 && !wanted.some((it) => name.includes(it))) continue
  const begun = performance.now()
  const found = foundBy(file, find, put)
  const isMissed = found === null || LANES.indexOf(found.lane) > LANES.indexOf(by)
  if (isMissed) missed++
  const seconds = ((performance.now() - begun) / 1000).toFixed(0)
  const how = found === null ? 'NOT FOUND' : `found by the ${found.lane} lane: ${found.test}`
  console.log(`${isMissed ? 'MISSED' : 'ok'}  ${name} (${file}): ${how}, ${seconds} s`)
}
process.exit(missed === 0 ? 0 : 1)

/** @returns the lane and its first failed test, or null */
function foundBy(file, find, put) {
  const copy = mkdtempSync(join(tmpdir(), 'jfluid-seeded-'))
  try {
    cpSync(root, copy, {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !/\/(node_modules|dist)$/.test(path),
    })
    chmodSync(copy, 0o755) // tests run the copy as other users
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const text = readFileSync(join(copy, file), 'utf8')
    if (text.split(find).length !== 2) throw new Error(`${file} does not have once:\n${find}`)
    writeFileSync(
      join(copy, file),
      text.replace(find, () => put),
    )
    for (const lane of LANES) {
      const { status, stdout, stderr } = spawnSync('node', ['test/lanes/run.mjs', lane, '--', '--bail=1'], {
        cwd: copy,
        encoding: 'utf8',
        maxBuffer: 1 << 28,
      })
      if (status === 0) continue
      const output = `${stdout}${stderr}`.replace(/\x1b\[[0-9;]*m/g, '')
      const test = /^ *FAIL +(.*)$/m.exec(output)?.[1]
      if (test === undefined)
        throw new Error(
          `the ${lane} lane ended with ${status}, and no test had failed:\n${output.slice(-4000)}`,
        )
      return { lane, test }
    }
    return null
  } finally {
    rmSync(copy, { recursive: true })
  }
}
