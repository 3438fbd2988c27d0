// Many threads and deep stacks: more threads inside roots than chunks in the buffer, thousands of short-lived threads, and a recursion
// that ends in a StackOverflowError.

import { beforeAll, describe, expect, it } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import {
  callsByMethod,
  callsByPath,
  type JsonNode,
  type JsonProfile,
  lines,
  startRecording,
} from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { liveObjects, until } from './remains.ts'

/**
 * together n: n threads enter the root, and each waits inside it until all have entered.
 * convoy n:   n threads enter the root and lock a monitor there, one after the other. The owner of the monitor fills more than one chunk,
 * while the other threads hold chunks and wait for the monitor.
 * series n:   n threads enter the root once each. Each starts after the previous thread has ended.
 */
const CROWD = `
  package fix;
  import java.util.concurrent.CountDownLatch;
  public class Crowd {
    static final Object lock = new Object();
    static volatile int sink;
    static int step(int x) { return x * 31 + 7; }
    static void meet(CountDownLatch all) throws InterruptedException {
      int x = step(1);
      all.countDown();
      all.await();
      sink = step(x);
    }
    static void queue(int times) {
      synchronized (lock) { for (int i = 0; i < times; i++) sink = step(i); }
    }
    static void visit() { sink = step(sink); }
    interface Task { void run() throws InterruptedException; }
    static Thread start(Task task) {
      Thread thread = new Thread(null, () -> {
        try { task.run(); } catch (InterruptedException e) { throw new IllegalStateException(e); }
      }, "crowd", 256 << 10);
      thread.start();
      return thread;
    }
    static void all(int n, Task task) throws InterruptedException {
      Thread[] threads = new Thread[n];
      for (int i = 0; i < n; i++) threads[i] = start(task);
      for (Thread thread : threads) thread.join();
    }
    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        int n = Integer.parseInt(line.split(" ")[1]);
        if (line.startsWith("together")) {
          CountDownLatch latch = new CountDownLatch(n);
          all(n, () -> meet(latch));
        } else if (line.startsWith("convoy")) {
          all(n, () -> queue(3000));
        } else {
          for (int i = 0; i < n; i++) start(Crowd::visit).join();
        }
        System.out.println("done " + line);
      }
    }
  }`

const calls = (profile: JsonProfile, method: string): number =>
  profile.methods.find((m) => m.method === method)?.calls ?? 0

/**
 * Returns the tree without the calls of `method`, and the calls of `method` at each level. `method` must call no other instrumented method.
 */
function withoutRecursion(roots: readonly JsonNode[], method: string): { rest: JsonNode[]; deep: number[] } {
  const deep: number[] = []
  const copy = (node: JsonNode): JsonNode => {
    let below = node.children.find((c) => c.method === method)
    for (; below !== undefined; below = below.children.find((c) => c.method === method))
      deep.push(below.calls)
    return { ...node, children: node.children.filter((c) => c.method !== method).map(copy) }
  }
  return { rest: roots.map(copy), deep }
}

forNewestJdk((jdk) => {
  let java: JavaProcess
  beforeAll(async () => {
    java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Crowd': CROWD }), 'fix.Crowd'])
    await java.line(/ready/)
  })
  describe('more threads inside roots than chunks in the buffer', () => {
    it.each([
      ['together', 'meet'],
      ['convoy', 'queue'],
    ])(
      'with more threads than chunks, no thread hangs, and unrecorded calls are reported as gaps (threads: %s)',
      async (how, root) => {
        const recording = startRecording(java.pid, '--root', `fix.Crowd.${root}`)
        await recording.started
        await ask(java, `${how} 600`, /^done/)
        const profile = await recording.stop()
        expect(profile.truncated).toBe(false)
        // A late answer to a first invocation may cause a gap as well.
        const { gaps } = profile.instrumentation
        expect(calls(profile, root)).toBeLessThanOrEqual(600)
        expect(calls(profile, root) + gaps).toBeGreaterThanOrEqual(600)
        if (how === 'together') expect(gaps).toBeGreaterThanOrEqual(600 - 512)
      },
    )
  })

  // Runs after the tests above and shows that the next threads get chunks again.
  it('calls of 2,000 consecutive threads are counted, and no data about ended threads stay in the target', async () => {
    const recording = startRecording(java.pid, '--root', 'fix.Crowd.visit')
    await recording.started
    await ask(java, 'series 2000', /^done/)
    // Records of ended threads are removed by the next status request. Two may stay: one belongs to the agent's calibration.
    const records = async () => (await liveObjects(java.pid, /JFluid1Threads\$ThreadInfo$/)).values()
    await until(async () => [...(await records())].reduce((a, b) => a + b, 0) <= 2)
    const profile = await recording.stop()
    const { gaps, healed } = profile.instrumentation
    // A client without a processor for one second causes a gap, or several.
    expect(gaps).toBeLessThan(20)
    const counted = 2000 - gaps
    expect(lines(callsByMethod(profile))).toEqual([
      `fix.Crowd.step(I)I ${counted}`,
      `fix.Crowd.visit()V ${counted}`,
    ])
    expect([healed, profile.truncated]).toEqual([0, false])
  })

  itInFull('a stack overflow inside the root leaves a consistent tree', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Throws'), 'fix.Throws'])
    await java.line(/ready/)
    const recording = startRecording(java.pid, '--root', 'fix.Throws.root')
    await recording.started
    java.send('overflow')
    await java.line(/done/)
    const profile = await recording.stop()
    java.send('expect')
    await java.line(/^end/)
    const { rest, deep } = withoutRecursion(profile.merged, 'deep')
    expect(lines(callsByPath(rest))).toEqual(lines(parseExpectation(java.stdout())))
    // Each level has exactly one call.
    expect(deep.length).toBeGreaterThan(500)
    expect(new Set(deep)).toEqual(new Set([1]))
  })
})
