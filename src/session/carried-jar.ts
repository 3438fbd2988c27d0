// The agent for a JVM that sees no file of ours: its bytes go over the debugger's port into a temporary file there, 0600, which is
// removed as soon as the agent has been loaded from it.

import { readFileSync } from 'node:fs'
import {
  type ArrayId,
  type ArrayTypeId,
  granted,
  type JdwpTarget,
  type ObjectId,
} from '../jdwp-client/index.ts'
import { type DebuggerCalls, NULL, ThrownInTarget } from './debugger-calls.ts'

/** Of one packet. */
const PART_BYTES = 64 << 10

const FILES = 'java.nio.file.Files'
const CREATE =
  'createTempFile(Ljava/lang/String;Ljava/lang/String;[Ljava/nio/file/attribute/FileAttribute;)Ljava/nio/file/Path;'
const ATTRIBUTES = '[Ljava.nio.file.attribute.FileAttribute;'

export class CarriedJar {
  readonly #calls: DebuggerCalls

  private constructor(
    calls: DebuggerCalls,
    /** As the JVM calls it. */
    readonly path: string,
  ) {
    this.#calls = calls
  }

  /** @throws ThrownInTarget if the JVM has no room for it */
  static async into(jvm: JdwpTarget, calls: DebuggerCalls, jar: string): Promise<CarriedJar> {
    const files = await classOf(calls, FILES)
    const attributes = await newArray(jvm, calls, ATTRIBUTES, 0)
    const made = await calls.staticOf(files, CREATE, [
      await calls.string('jfluid'),
      await calls.string('.jar'),
      { tag: 'ARRAY', id: attributes },
    ])
    const path =
      'id' in made && made.id !== null
        ? await calls.text(await calls.of(made.id, await classOf(calls, 'java.lang.Object'), TO_STRING))
        : null
    if (path === null) throw new ThrownInTarget(CREATE, 'there is no path')
    const carried = new CarriedJar(calls, path)
    try {
      await carried.#write(jvm, readFileSync(jar))
      return carried
    } catch (problem) {
      await carried.remove()
      throw problem
    }
  }

  async #write(jvm: JdwpTarget, bytes: Buffer): Promise<void> {
    const calls = this.#calls
    const array = await newArray(jvm, calls, '[B', bytes.length)
    for (let at = 0; at < bytes.length; at += PART_BYTES) {
      const part = bytes.subarray(at, at + PART_BYTES)
      const values = new Int8Array(part.buffer, part.byteOffset, part.length)
      granted(await jvm.arrayReference.setValues(array, at, { tag: 'BYTE', values }), 'the agent')
    }
    const type = await classOf(calls, 'java.io.FileOutputStream')
    const stream = await calls.create(type, '(Ljava/lang/String;)V', [await calls.string(this.path)])
    try {
      await calls.of(stream, type, 'write([B)V', [{ tag: 'ARRAY', id: array }])
    } finally {
      await calls.of(stream, type, 'close()V')
    }
  }

  async remove(): Promise<void> {
    const type = await classOf(this.#calls, 'java.io.File')
    const path = await this.#calls.string(this.path)
    const file: ObjectId = await this.#calls.create(type, '(Ljava/lang/String;)V', [path])
    await this.#calls.of(file, type, 'delete()Z')
  }
}

const TO_STRING = 'toString()Ljava/lang/String;'

async function classOf(calls: DebuggerCalls, name: string) {
  const type = await calls.bootClass(name)
  if (type === null) throw new ThrownInTarget(name, 'there is no such class')
  return type
}

/** @param name  as Class.forName has it */
async function newArray(
  jvm: JdwpTarget,
  calls: DebuggerCalls,
  name: string,
  length: number,
): Promise<ArrayId> {
  const forName = 'forName(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;'
  const loaded = [await calls.string(name), { tag: 'BOOLEAN', value: true } as const, NULL]
  await calls.static('Ljava/lang/Class;', forName, loaded)
  const signature = name.replaceAll('.', '/')
  const types = granted(await jvm.virtualMachine.classesBySignature(signature), name)
  for (const { id, kind } of types) {
    const loader = await jvm.referenceType.classLoader(id)
    if (kind !== 'ARRAY' || !loader.ok || loader.value !== null) continue
    const array = granted(await jvm.arrayType.newInstance(id as ArrayTypeId, length), 'an array')
    granted(await jvm.objectReference.disableCollection(array), 'to keep an array')
    return array
  }
  throw new ThrownInTarget(name, 'there is no such class')
}
