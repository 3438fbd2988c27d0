// The JDK's immutable sets and maps have another order in each JVM, since ImmutableCollections uses the time as a salt. Two runs of one
// program may therefore make different calls, for example when tree maps are filled from these sets. This file creates a JVM with a
// constant salt.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { instructionLength, parseCode } from '../../src/classfile/code.ts'
import { INVOKESTATIC, LCONST_1, NOP } from '../../src/classfile/opcodes.ts'
import { u2At } from '../../src/classfile/reader.ts'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

const SALTED = 'java/util/ImmutableCollections'

const COPY = `
  public class Copy {
    public static void main(String[] args) throws Exception {
      try (var in = Object.class.getResourceAsStream("/${SALTED}.class")) { in.transferTo(System.out); }
    }
  }`

/** Returns options of a JVM with a constant salt: its class has one change, which replaces the call that reads the time. */
export async function withoutSalt(jdk: Jdk): Promise<string[]> {
  const { stdout } = await promisify(execFile)(
    jdk.java,
    ['-cp', await compileJava(jdk, { Copy: COPY }), 'Copy'],
    { encoding: 'buffer' },
  )
  const bytes = Uint8Array.from(stdout)
  const file = parseClassFile(bytes)
  const initialiser = file.methods.find(({ name }) => name === '<clinit>')
  assert.ok(initialiser !== undefined)
  const { bytecode } = parseCode(file, initialiser)
  let calls = 0
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (bytecode[bci] !== INVOKESTATIC) continue
    const { owner, name } = file.pool.memberRef(u2At(bytecode, bci + 1))
    if (owner !== 'java/lang/System' || name !== 'nanoTime') continue
    calls++
    bytecode.set([LCONST_1, NOP, NOP], bci) // in place, since these bytes are part of the class file
  }
  assert.equal(calls, 1, `${SALTED} of ${jdk.full} asks for the time`)
  const patch = temporaryDirectory()
  mkdirSync(join(patch, 'java/util'), { recursive: true })
  writeFileSync(join(patch, `${SALTED}.class`), bytes)
  return ['--patch-module', `java.base=${patch}`]
}
