// A target thread that waits for a client without heartbeat. There is no real client: the test registers its own process as the buffer's
// reader.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { expect, onTestFinished } from 'vitest'
import { parseStartTicks } from '../../src/attach/target-process.ts'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { createRing, openRing } from '../../src/events/ring.ts'
import { chunksOffset } from '../../src/events/ring-layout.ts'
import { instrumentClass } from '../../src/instrument/class.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Agent } from '../../src/wire/agent.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

const CHUNK_BYTES = 4 << 10
const CHUNK_COUNT = 2

const PROGRAM = {
  'fix/Silent': `
    package fix;
    public class Silent {
      public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (System.in.read() >= 0) System.out.println("sum " + root());
      }
      static int root() {
        int sum = 0;
        for (int i = 0; i < 1000; i++) sum += one(i); // more events than the buffer can hold
        return sum;
      }
      static int one(int x) { return x + 1; }
    }`,
}

/** Starts a shell script that runs until the test ends. */
export function shell(script: string): ChildProcess {
  const process = spawn('sh', ['-c', script], { stdio: 'ignore' })
  onTestFinished(() => {
    process.kill('SIGKILL')
  })
  return process
}

export const BUSY = 'while :; do :; done'
export const busy = () => shell(BUSY)
export const asleep = () => shell('sleep 60 & wait')

export interface Silence {
  readonly java: JavaProcess
  readonly agent: Agent
  /** Resolves with the reason for the end of the session. */
  readonly ended: Promise<string>
  over: boolean
  /** Sends one heartbeat of the client. */
  beat(): void
  /** Calls the root. Returns the wall-clock time of the call, ms. */
  call(): Promise<number>
}

/** Starts a JVM that records into a buffer of two chunks without a reader. */
export async function open(jdk: Jdk, reader: ChildProcess, startedOff = 0): Promise<Silence> {
  const java = startJava(jdk, ['-cp', await compileJava(jdk, PROGRAM), 'fix.Silent'])
  await java.line(/^ready/)
  const door = await attachDoor(java.pid)
  const agent = new Agent(door.link)
  await agent.hello()
  const path = join(door.dir, 'ring')
  createRing(path, { chunkBytes: CHUNK_BYTES, chunkCount: CHUNK_COUNT })
  await agent.configure({
    ...{ ring: path, chunkBytes: CHUNK_BYTES, chunkCount: CHUNK_COUNT },
    ...{ chunksOffset: chunksOffset(CHUNK_COUNT), perfFile: '', safepointTimeOffset: 0, follow: [] },
    counts: false,
    waits: false,
    trees: false,
    isStarted: false,
  })
  const pid = reader.pid!
  const since = parseStartTicks(readFileSync(`/proc/${pid}/stat`, 'utf8'))! + startedOff
  const ring = openRing(path)
  ring.sign({ process: pid, thread: pid, since })
  ring.beat()
  onTestFinished(() => ring.close())
  rmSync(path)
  door.leave()

  const id = (await agent.loadedClasses()).classes.find((it) => it.name === 'fix/Silent')!.id
  const [bytes] = await agent.classBytes([id])
  const file = parseClassFile(bytes!)
  const method = (name: string) => file.methods.find((it) => it.name === name)!.index
  const rewritten = instrumentClass(file, [
    { methodIndex: method('root'), id: 1, probe: 'root' },
    { methodIndex: method('one'), id: 2, probe: 'method' },
  ])
  await agent.extendConstantPool(id, crc32(file.bytes), rewritten.poolEntries, rewritten.poolBytes)
  const bodies = rewritten.bodies.map(({ methodIndex, code }) => ({ classId: id, methodIndex, code }))
  expect((await agent.redefineMethods(bodies, [], 2)).refused).toEqual([])

  let calls = 0
  let end: (reason: string) => void = () => {}
  const silence: Silence = {
    ...{ java, agent, over: false, beat: () => ring.beat() },
    ended: new Promise((resolve) => {
      end = resolve
    }),
    async call() {
      const begin = performance.now()
      java.child.stdin!.write('c') // without a line feed, which would be a second call
      expect(await java.line(/^sum/, ++calls)).toBe('sum 500500')
      return performance.now() - begin
    },
  }
  agent.listen({
    first() {},
    reflect() {},
    hiddenClass() {},
    classLoading() {},
    changed() {},
    lateLoad() {},
    waited() {},
    valueClass() {},
    ended(reason) {
      silence.over = true
      end(reason)
    },
  })
  await agent.enable()
  await agent.go()
  onTestFinished(() => agent.close())
  return silence
}
