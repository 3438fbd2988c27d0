// Compact code for JDK methods. Each method is padded until it would be too long with a probe before each return. HotSpot's verifier and
// jfluid's type checker must accept the result, and the verifying JVM itself runs on the changed JDK classes. JFLUID_FULL=1 tests every
// class of java.base of every JDK. By default one class in 16 of the oldest JDK is tested.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { NOP } from '../../src/classfile/opcodes.ts'
import { u2At } from '../../src/classfile/reader.ts'
import { type SplicedBody, spliceClass } from '../../src/classfile/splice.ts'
import { HUGE_METHOD_BYTES } from '../../src/instrument/limits.ts'
import { instrumentMethod, type MethodProbes } from '../../src/instrument/method.ts'
import { idProbe, idSlots } from '../../src/instrument/probe.ts'
import { NotInstrumentable } from '../../src/instrument/problem.ts'
import { runtimeBlock } from '../../src/instrument/runtime.ts'
import { returnedClass } from '../../src/instrument/shared-exits.ts'
import { refusedBodies } from '../../src/typecheck/rewritten.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { jdks, oldest } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import {
  compileRuntime,
  compileTools,
  imageClasses,
  runJava,
  SILENT_RUNTIME,
  VERIFY_ALL,
  writeClass,
} from './jvm.ts'

const EVERY = FULL ? 1 : 16
const ID = 1_000_003

/** Returns bodies padded to be too long with inline exits. The padding is a multiple of four, so that switches stay aligned. */
function compactBodies(classFile: ClassFile) {
  const names = new Set(classFile.methods.flatMap((method) => returnedClass(method) ?? []))
  const block = runtimeBlock(classFile.pool, { clock: 'time', returned: [...names] })
  const bodies: SplicedBody[] = []
  for (const method of classFile.methods) {
    if (method.code === undefined) continue
    const probes: MethodProbes = {
      entry: idProbe(ID, block.methodEntry),
      exit: idProbe(ID, block.methodExit),
      slots: idSlots(ID),
    }
    try {
      const inline = codeLength(instrumentMethod(classFile, method, probes, block))
      if (inline > HUGE_METHOD_BYTES || parseCode(classFile, method).bytecode.length > HUGE_METHOD_BYTES)
        continue
      const padding = 4 * Math.ceil((HUGE_METHOD_BYTES + 1 - inline) / 4)
      const entry = [...Array<number>(padding).fill(NOP), ...probes.entry]
      const code = instrumentMethod(classFile, method, { ...probes, entry }, block)
      assert.ok(codeLength(code) < inline + padding, 'it has become compact')
      bodies.push({ methodIndex: method.index, code })
    } catch (problem) {
      if (!(problem instanceof NotInstrumentable)) throw problem // no returns to share
    }
  }
  return { ...block, bodies }
}

/** Returns code_length, which follows max_stack and max_locals. */
function codeLength(code: Uint8Array): number {
  return u2At(code, 6)
}

it.each((FULL ? jdks : [oldest]).map((jdk) => [jdk.version, jdk] as const))(
  'a JVM whose java.base %i has methods in compact form starts, and its verifier accepts these methods',
  async (_, jdk) => {
    const tools = await compileTools(jdk)
    const image = (await imageClasses(jdk, tools, ['java.base'])).filter((_, i) => i % EVERY === 0)
    const patches = temporaryDirectory()
    const names: string[] = []
    let methods = 0
    for (const { bytes } of image) {
      const classFile = parseClassFile(bytes)
      const rewritten = compactBodies(classFile)
      const { bodies, poolBytes, poolEntries } = rewritten
      if (bodies.length === 0) continue
      methods += bodies.length
      assert.deepEqual([...refusedBodies(classFile, rewritten)], [], classFile.name)
      writeClass(patches, classFile.name, spliceClass(classFile, poolEntries, poolBytes, bodies))
      names.push(`java.base ${classFile.name.replaceAll('/', '.')}`)
    }
    console.info(`JDK ${jdk.version}: ${methods} methods of ${names.length} classes are compact`)
    assert.ok(methods > (FULL ? 4000 : 250))

    await compileRuntime(jdk, SILENT_RUNTIME, patches)
    const list = join(temporaryDirectory(), 'classes')
    writeFileSync(list, names.join('\n'))
    const patch = ['--patch-module', `java.base=${patches}`]
    const { stdout, stderr } = await runJava(jdk, [...VERIFY_ALL, ...patch, '-cp', tools, 'Link', list])
    assert.equal(stdout.trim(), `accepted ${names.length}`, stdout + stderr)
  },
  180_000,
)
