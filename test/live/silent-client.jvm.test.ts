// A target thread that waits for a client whose heart stands still: what it sees of the thread that should make
// it beat decides. No client is in the way: the test signs the buffer with a process of its own making.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { parseStartTicks } from '../../src/attach/target-process.ts'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { createRing, openRing } from '../../src/events/ring.ts'
import { chunksOffset } from '../../src/events/ring-layout.ts'
import { instrumentClass } from '../../src/instrument/class.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Agent } from '../../src/wire/agent.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { until } from './remains.ts'

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
        for (int i = 0; i < 1000; i++) sum += one(i); // more events than the buffer holds
        return sum;
      }
      static int one(int x) { return x + 1; }
    }`,
}

/** Runs until the test ends. */
function shell(script: string): ChildProcess {
  const process = spawn('sh', ['-c', script], { stdio: 'ignore' })
  onTestFinished(() => {
    process.kill('SIGKILL')
  })
  return process
}

const BUSY = 'while :; do :; done'
const busy = () => shell(BUSY)
const asleep = () => shell('sleep 60 & wait')
/** Of those that may be used. */
const PROCESSOR = /^Cpus_allowed_list:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]
/** It stays on one processor. */
const pinned = (command: string) => shell(`exec taskset -c ${PROCESSOR} ${command}`)
/** Fields of a process's stat from the third on; none of one that has gone. */
function statOf(pid: number): string[] {
  if (!existsSync(`/proc/${pid}/stat`)) return []
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
const STATE = 0
const POLICY = 41 - 3
const SCHED_IDLE = '5'

interface Silence {
  readonly java: JavaProcess
  readonly agent: Agent
  /** Why the session ended. */
  readonly ended: Promise<string>
  over: boolean
  /** Calls the root: the wall-clock time until it returned, in ms. */
  call(): Promise<number>
}

forEachJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, PROGRAM)
  })

  /** A JVM that records into a buffer of two chunks, which nobody reads. */
  async function open(reader: ChildProcess, startedOff = 0): Promise<Silence> {
    const java = startJava(jdk, ['-cp', classes, 'fix.Silent'])
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
    })
    const pid = reader.pid!
    const since = parseStartTicks(readFileSync(`/proc/${pid}/stat`, 'utf8'))! + startedOff
    const ring = openRing(path)
    ring.sign({ process: pid, thread: pid, since })
    ring.beat()
    ring.close()
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

    let end: (reason: string) => void = () => {}
    const silence: Silence = {
      ...{ java, agent, over: false },
      ended: new Promise((resolve) => {
        end = resolve
      }),
      async call() {
        const begin = performance.now()
        java.send('c')
        expect(await java.line(/^sum/)).toBe('sum 500500')
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

  it('a client that sleeps is given up after 250 ms, and the target goes on', async () => {
    const silence = await open(asleep())
    const ms = await silence.call()
    expect(await silence.ended).toBe('the client did not answer for 250 ms')
    expect(ms).toBeGreaterThan(240)
  })

  it('one that wants a processor is not, until it has got none for 2 s', { timeout: 60_000 }, async () => {
    const silence = await open(busy())
    let waited = 0
    for (let calls = 0; !silence.over && calls < 10; calls++) {
      waited += await silence.call()
      await silence.agent.status().catch(() => {}) // what the agent had to say before is here
    }
    expect(await silence.ended).toBe('the client got no processor for 2 s')
    expect(waited).toBeGreaterThan(1900)
  })

  it('another process with its number is no client', async () => {
    const silence = await open(busy(), 1)
    await silence.call()
    expect(await silence.ended).toBe('the client did not answer for 250 ms')
  })

  it('one that has been killed is not waited for so long', { timeout: 60_000 }, async () => {
    // A machine that has no processor for the target adds to it, so more than once; 250 ms would be the least if nobody looked.
    let least = Number.POSITIVE_INFINITY
    for (let tries = 0; tries < 3 && least > 200; tries++) {
      const reader = asleep()
      const silence = await open(reader)
      const gone = new Promise((resolve) => reader.once('exit', resolve))
      reader.kill('SIGKILL')
      await gone
      least = Math.min(least, await silence.call())
      await silence.ended
    }
    expect(least).toBeLessThan(200)
  })

  // What the kernel tells of a process is the same for all of them.
  it.skipIf(!FULL && jdk !== newest)(
    'one that has been killed, and gets no processor to end, is given up after 250 ms',
    { timeout: 60_000 },
    async () => {
      // Beside three others it gets a thousandth of the processor.
      for (let n = 0; n < 3; n++) pinned(`sh -c '${BUSY}'`)
      // It may end all the same before the 250 ms are over, and then it tells nothing.
      for (let isThere = false; !isThere; ) {
        const reader = pinned(`chrt -i 0 sh -c '${BUSY}'`)
        await until(() => statOf(reader.pid!)[POLICY] === SCHED_IDLE)
        const silence = await open(reader)
        reader.kill('SIGKILL')
        await silence.call()
        const ended = await silence.ended
        isThere = statOf(reader.pid!)[STATE] === 'R'
        expect(ended).toBe('the client did not answer for 250 ms')
      }
    },
  )
})
