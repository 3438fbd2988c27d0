// A client that is killed, stopped or detached while threads create contexts continuously in their own trees and wait for blocks (--mode
// count): the program continues with all of its calls, and nothing of the client remains.

import { expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, type JavaProcess, startJava, stop } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { type Recording, readProfileJson, startRecording } from '../support/jfluid.ts'
import { number } from './pulse.ts'
import { ownThreads, remainsOf, until } from './remains.ts'

/**
 * Each call of the root takes another path of 16 calls. Each of these is a call of one of 8 methods, so the number of contexts grows
 * without limit. The program counts the calls and prints the longest time of a call.
 */
const MAZE = `
  package fix;
  import java.util.concurrent.atomic.LongAdder;
  public class Labyrinth {
    static final LongAdder calls = new LongAdder();
    static volatile long longest;
    static long root(long way) { return m(way, 16); }
    static long m(long way, int depth) {
      if (depth == 0) return way;
      return switch ((int) (way >>> 61)) {
        ${Array.from({ length: 7 }, (_, i) => `case ${i} -> m${i}(way, depth);`).join('\n        ')}
        default -> m7(way, depth);
      };
    }
    ${Array.from(
      { length: 8 },
      (_, i) => `static long m${i}(long way, int depth) { return m(way * 8 + depth + ${i}, depth - 1); }`,
    ).join('\n    ')}
    static void walk(long state) {
      for (;;) {
        state = state * 6364136223846793005L + 1442695040888963407L;
        long begun = System.nanoTime();
        root(state);
        calls.increment();
        long took = System.nanoTime() - begun;
        if (took > longest) synchronized (calls) { longest = Math.max(longest, took); }
      }
    }
    public static void main(String[] args) throws Exception {
      for (int t = 0; t < 2; t++) {
        long seed = t;
        Thread thread = new Thread(() -> walk(seed), "walks-" + t);
        thread.setDaemon(true);
        thread.start();
      }
      System.out.println("ready");
      while (true) {
        int told = System.in.read();
        if (told < 0) return;
        if (told == 'c') System.out.println("calls " + calls.sum());
        if (told == 'l') { System.out.println("longest " + longest / 1_000_000); longest = 0; }
      }
    }
  }`

const calls = (java: JavaProcess): Promise<number> => number(java, 'c', /calls (\d+)\n/)
const longest = (java: JavaProcess): Promise<number> => number(java, 'l', /longest (\d+)\n/)
/** A thread waits 250 ms for a client without heartbeat. A redefinition and a busy machine add to this. */
const HELD_MS = 2500

async function scarce(jdk: Jdk, end: (recording: Recording, java: JavaProcess) => Promise<void>) {
  const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Labyrinth': MAZE }), 'fix.Labyrinth'])
  await java.line(/^ready/)
  const recording = startRecording(java.pid, '--root', 'fix.Labyrinth.root', '--mode', 'count')
  // Blocks are scarce from the start, since each call needs 16 new contexts.
  await recording.started
  await longest(java)
  await end(recording, java)
  await until(() => ownThreads(java.pid).length === 0)
  expect(await longest(java)).toBeLessThan(HELD_MS)
  const before = await calls(java)
  await until(async () => (await calls(java)) > before + 10_000)
  expect(await remainsOf(java.pid, [recording.process.pid])).toEqual([])
  await java.kill()
}

forNewestJdk((jdk) => {
  it('a killed client leaves nothing behind, and the program continues', () =>
    scarce(jdk, (recording) => recording.process.kill()))

  it('a stopped client leaves nothing behind, and saves its data when it continues', () =>
    scarce(jdk, async ({ process, file }, java) => {
      await stop(process)
      await until(() => ownThreads(java.pid).length === 0)
      process.child.kill('SIGCONT')
      expect((await process.exit).code).toBe(STATUS.notNow)
      expect((await readProfileJson(file)).truncated).toBe(true)
    }))

  it('a client can end its session while threads wait for tree blocks', () =>
    scarce(jdk, async (recording) => {
      const begun = performance.now()
      const { truncated, instrumentation, warnings, detach } = await recording.stop()
      expect(performance.now() - begun).toBeLessThan(15_000)
      expect([truncated, detach?.left]).toEqual([false, []])
      // Usually the client detaches before all blocks are used.
      const said = warnings.filter((it) => /are limited to [\d,]+ contexts/.test(it))
      if (instrumentation.gaps === 0) expect(said).toEqual([])
    }))
})
