// A JVM with several classes of three methods each, and an agent that records nothing. The test sends commands directly to the agent and
// reads the code from the JVM.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { createRing } from '../../src/events/ring.ts'
import { chunksOffset } from '../../src/events/ring-layout.ts'
import { type InstrumentedClass, instrumentClass } from '../../src/instrument/class.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Recorder } from '../../src/session/recorder/recorder.ts'
import { Agent, type AgentEvents, type Body } from '../../src/wire/agent.ts'
import type { Jdk } from '../support/jdks.ts'
import { liveCode, startDebuggable } from './live-code.ts'

const CHUNK_BYTES = 4 << 10
const CHUNK_COUNT = 16

/** Returns the source of a class. A program may contain any number of these classes. `Swapped` calls the methods of A, B and C. */
export const CLASS = (name: string) => `
  package fix;
  class ${name} {
    static int one(int x) { return x + 1; }
    static int two(int x) { return x + 2; }
    static int three(int x) { return x + 3; }
  }`

export const PROGRAM = {
  'fix/A': CLASS('A'),
  'fix/B': CLASS('B'),
  'fix/C': CLASS('C'),
  'fix/Late': CLASS('Late'),
  'fix/Swapped': `
    package fix;
    public class Swapped {
      public static void main(String[] args) throws Exception {
        System.out.println("ready " + sum());
        for (int c; (c = System.in.read()) >= 0; ) {
          if (c == 'l') System.out.println("late " + (Late.one(1) + Late.two(1) + Late.three(1)));
          else System.out.println("sum " + sum());
        }
      }
      static int sum() {
        return A.one(1) + A.two(1) + A.three(1) + B.one(1) + B.two(1) + B.three(1) + C.one(1) + C.two(1) + C.three(1);
      }
    }`,
}

export const NO_EVENTS: AgentEvents = {
  first() {},
  reflect() {},
  hiddenClass() {},
  classLoading() {},
  changed() {},
  lateLoad() {},
  waited() {},
  valueClass() {},
  ended() {},
}

export interface Swapped {
  readonly id: number
  readonly file: ClassFile
  readonly rewritten: InstrumentedClass
  /** Returns the body of a method with probes. */
  body(name: string): Body
}

export const method = (owner: string, name: string): string => `Lfix/${owner};.${name}(I)I`
/** Highest id of the methods of A, B and C. */
export const HIGHEST = 9

/** @param program  words of the start command; the program prints `ready` after A, B and C are loaded */
export async function openSwapped(jdk: Jdk, program: readonly string[]) {
  const { java, jvm } = await startDebuggable(jdk, program)
  const door = await attachDoor(java.pid)
  const agent = new Agent(door.link)
  await agent.hello()
  const ring = join(door.dir, 'ring')
  createRing(ring, { chunkBytes: CHUNK_BYTES, chunkCount: CHUNK_COUNT })
  const { file: perfFile, offset: safepointTimeOffset } = door.perf(java.pid)
  await agent.configure({
    ...{ ring, chunkBytes: CHUNK_BYTES, chunkCount: CHUNK_COUNT, chunksOffset: chunksOffset(CHUNK_COUNT) },
    ...{
      perfFile,
      safepointTimeOffset,
      follow: [],
      counts: false,
      waits: false,
      trees: false,
      isStarted: false,
    },
  })
  const recorder = await Recorder.start({ ring }) // sends heartbeats: without them no thread waits longer than 250 ms
  rmSync(ring)
  door.leave()
  const loaded = (await agent.loadedClasses()).classes
  const ids = ['A', 'B', 'C'].map((name) => loaded.find((c) => c.name === `fix/${name}`)!.id)
  const bytes = await agent.classBytes(ids)
  const [a, b, c] = ids.map((id, i): Swapped => {
    const file = parseClassFile(bytes[i]!)
    const tasks = file.methods
      .filter(({ name }) => name !== '<init>')
      .map(({ index }, nth) => ({ methodIndex: index, id: 1 + 3 * i + nth, probe: 'method' as const }))
    const rewritten = instrumentClass(file, tasks)
    const body = (name: string): Body => {
      const { methodIndex, code } = rewritten.bodies.find(
        (it) => file.methods[it.methodIndex]!.name === name,
      )!
      return { classId: id, methodIndex, code }
    }
    return { id, file, rewritten, body }
  }) as [Swapped, Swapped, Swapped]
  return {
    ...{ java, jvm, agent, loaded, a, b, c },
    before: await liveCode(jvm, 'Lfix/'),
    live: () => liveCode(jvm, 'Lfix/'),
    extend: ({ id, file, rewritten }: Swapped, crc = crc32(file.bytes)) =>
      agent.extendConstantPool(id, crc, rewritten.poolEntries, rewritten.poolBytes),
    async leave(look = async () => {}) {
      const report = await agent.detach()
      await look()
      agent.close()
      await recorder.stop()
      await jvm.dispose()
      return report
    },
  }
}
