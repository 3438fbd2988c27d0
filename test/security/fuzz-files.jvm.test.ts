// Files of a hostile JVM. The reader returns a value or throws one of its own errors.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { forEachInstruction, parseCode } from '../../src/classfile/code.ts'
import { ClassFormatProblem } from '../../src/classfile/problem.ts'
import { Chunk } from '../../src/jfr/chunk.ts'
import { BadRecording } from '../../src/jfr/problem.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { itInFull } from '../support/only-if.ts'
import { fuzzBytes, inputs, LONG_MS } from './mutate.ts'

/** Returns a flight recording of an idle JVM. */
async function recording(): Promise<Buffer> {
  const file = join(temporaryDirectory(), 'a.jfr')
  await startJava(newest, [`-XX:StartFlightRecording:filename=${file},settings=profile`, '-version']).exit
  return readFileSync(file)
}

describe('damaged JVM files', { timeout: LONG_MS }, () => {
  it('damaged class files are parsed or refused', async () => {
    await fuzzBytes(
      'class files',
      inputs(3_000, 500_000),
      [readFileSync(join(await compileFixture(newest, 'Ticker'), 'fix/Ticker.class'))],
      (bytes) => {
        const file = parseClassFile(bytes)
        let instructions = 0
        for (const method of file.methods) {
          if (method.code === undefined) continue
          forEachInstruction(parseCode(file, method).bytecode, () => instructions++)
        }
        expect(instructions).toBeLessThanOrEqual(bytes.length)
        expect(file.bootstrapMethods.length).toBeLessThanOrEqual(bytes.length)
        // `test/instrument/fuzz.jvm.test.ts` tests the later steps.
      },
      [ClassFormatProblem],
    )
  })

  itInFull('damaged chunks of a flight recording are read or refused with BadRecording', async () => {
    await fuzzBytes(
      'flight recordings',
      inputs(3_000, 500_000),
      [await recording()],
      (bytes) => {
        const chunk = new Chunk((offset, length) => bytes.subarray(offset, offset + length))
        for (let i = 0; i < 3; i++) if (chunk.poll({ sample() {}, lost() {} })) break
      },
      [BadRecording],
    )
  })
})
