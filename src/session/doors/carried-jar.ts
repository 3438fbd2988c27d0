// The agent jar for a JVM that cannot read files of this machine. The bytes are sent over the debugger's port to a temporary file (mode
// 0600) on the JVM's machine. The file is removed as soon as the agent is loaded. If the client ends earlier, the file is removed when the
// JVM ends, or by the next session (CarriedJars.java).

import { readFileSync } from 'node:fs'
import * as jdwp from '../../jdwp-client/index.ts'
import { type DebuggerCalls, NULL, objectIn, ThrownInTarget } from './debugger-calls.ts'

/** Number of bytes per packet. */
const PART_BYTES = 64 << 10

const FILES = 'java.nio.file.Files'
const FILE = 'java.io.File'
const STREAM = 'java.io.FileOutputStream'
const CREATE =
  'createTempFile(Ljava/lang/String;Ljava/lang/String;[Ljava/nio/file/attribute/FileAttribute;)Ljava/nio/file/Path;'
const ATTRIBUTES = '[Ljava.nio.file.attribute.FileAttribute;'

/** Prefix of the file name; random digits follow. CarriedJars.java uses the same prefix. */
const PREFIX = 'jfluid-carried-'

export class CarriedJar {
  private constructor(
    private readonly calls: DebuggerCalls,
    /** Path of the file as seen by the JVM. */
    readonly path: string,
    private readonly file: jdwp.ObjectId,
  ) {}

  /**
   * Copies the agent into the heap of the JVM. This needs no suspended thread.
   * @throws ThrownInTarget if the heap is too small
   */
  static async bytesInto(jvm: jdwp.JdwpTarget, calls: DebuggerCalls, jar: string): Promise<jdwp.ArrayId> {
    await calls.foresee(
      [FILES, FILE, STREAM, 'java.lang.Object', 'java.lang.Class'],
      [PREFIX, '.jar', ATTRIBUTES],
    )
    const bytes = readFileSync(jar)
    const array = await arrayOf(jvm, calls, '[B', bytes.length)
    if (array === null) throw new ThrownInTarget('[B', 'the class does not exist')
    const parts: Promise<unknown>[] = []
    for (let at = 0; at < bytes.length; at += PART_BYTES) {
      const part = bytes.subarray(at, at + PART_BYTES)
      const values = new Int8Array(part.buffer, part.byteOffset, part.length)
      const set = jvm.arrayReference.setValues(array, at, { tag: 'BYTE', values })
      parts.push(set.then((result) => jdwp.granted(result, 'the agent')))
    }
    await Promise.all(parts)
    return array
  }

  /**
   * Writes the bytes to a temporary file of the JVM.
   * @throws ThrownInTarget if the file cannot be created or written
   */
  static async into(jvm: jdwp.JdwpTarget, calls: DebuggerCalls, bytes: jdwp.ArrayId): Promise<CarriedJar> {
    const files = await calls.neededClass(FILES)
    const attributes = await newArray(jvm, calls, ATTRIBUTES, 0)
    const made = await calls.staticOf(files, CREATE, [
      await calls.string(PREFIX),
      await calls.string('.jar'),
      { tag: 'ARRAY', id: attributes },
    ])
    const object = objectIn(made)
    if (object === null) throw new ThrownInTarget(CREATE, 'there is no path')
    const path = await calls.text(
      await calls.of(object, await calls.neededClass('java.lang.Object'), TO_STRING),
    )
    if (path === null) throw new ThrownInTarget(CREATE, 'there is no path')
    const type = await calls.neededClass(FILE)
    const file = await calls.create(type, '(Ljava/lang/String;)V', [await calls.string(path)])
    const carried = new CarriedJar(calls, path, file)
    try {
      await carried.#endWithJvm()
      await carried.#write(bytes)
      return carried
    } catch (problem) {
      await carried.remove()
      throw problem
    }
  }

  async #endWithJvm(): Promise<void> {
    try {
      await this.calls.of(this.file, await this.calls.neededClass(FILE), 'deleteOnExit()V')
    } catch (problem) {
      if (!(problem instanceof ThrownInTarget)) throw problem // a JVM that is shutting down throws, since it accepts no new shutdown hook
    }
  }

  async #write(array: jdwp.ArrayId): Promise<void> {
    const calls = this.calls
    const type = await calls.neededClass(STREAM)
    const stream = await calls.create(type, '(Ljava/lang/String;)V', [await calls.string(this.path)])
    try {
      await calls.of(stream, type, 'write([B)V', [{ tag: 'ARRAY', id: array }])
    } finally {
      await calls.of(stream, type, 'close()V')
    }
  }

  async remove(): Promise<void> {
    await this.calls.of(this.file, await this.calls.neededClass(FILE), 'delete()Z')
  }
}

const TO_STRING = 'toString()Ljava/lang/String;'

/** @param name  class name in the form that Class.forName expects */
async function newArray(
  jvm: jdwp.JdwpTarget,
  calls: DebuggerCalls,
  name: string,
  length: number,
): Promise<jdwp.ArrayId> {
  const there = await arrayOf(jvm, calls, name, length)
  if (there !== null) return there
  const forName = 'forName(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;'
  const loaded = [await calls.string(name), { tag: 'BOOLEAN', value: true } as const, NULL]
  await calls.static('Ljava/lang/Class;', forName, loaded)
  const made = await arrayOf(jvm, calls, name, length)
  if (made === null) throw new ThrownInTarget(name, 'the class does not exist')
  return made
}

/** @returns null if the boot loader has not loaded the class yet */
async function arrayOf(
  jvm: jdwp.JdwpTarget,
  calls: DebuggerCalls,
  name: string,
  length: number,
): Promise<jdwp.ArrayId | null> {
  const signature = name.replaceAll('.', '/')
  const types = jdwp.granted(await jvm.virtualMachine.classesBySignature(signature), name)
  for (const { id, kind } of types) {
    const loader = await jvm.referenceType.classLoader(id)
    if (kind !== 'ARRAY' || !loader.ok || loader.value !== null) continue
    const array = jdwp.granted(await jvm.arrayType.newInstance(id as jdwp.ArrayTypeId, length), 'an array')
    calls.keep(array)
    return array
  }
  return null
}
