// Probes allocate nothing: by the JVM's counter per thread, millions of calls allocate the same with and without probes.

import { describe, expect, it } from 'vitest'
import { remainsOf } from '../live/remains.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { times, trials } from './trials.ts'

/**
 * root n:    n rounds of calls of all kinds that allocate nothing; prints "took <bytes>" of the calling thread
 * makes n:   n rounds of calls that allocate an array of 24 bytes each
 */
const FRUGAL = `
  package fix;
  import java.util.function.IntUnaryOperator;
  public class Frugal {
    static volatile int sink;
    static volatile Object kept;
    static final ArithmeticException REFUSED = new ArithmeticException();
    interface Step { int of(int x); }
    static final Step[] STEPS = {x -> x ^ 5, x -> x + 3};
    static int leaf(int x) { return x * 31 + 7; }
    static synchronized int locked(int x) { return x + 1; }
    static int refuse(int x) { if ((x & 15) == 0) throw REFUSED; return x; }
    static int guarded(int x) { try { return refuse(x); } catch (ArithmeticException e) { return x + 1; } }
    static int down(int n, int x) { return n == 0 ? x : down(n - 1, leaf(x)); }
    static int entered(int x) { synchronized (REFUSED) { return x + 1; } }
    static void root(int rounds) {
      int x = sink;
      for (int i = 0; i < rounds; i++) {
        x = guarded(locked(leaf(x)));
        x = STEPS[x & 1].of(x);
        x = entered(down(3, x));
      }
      sink = x;
    }
    static void make() { kept = new int[2]; }
    static void makes(int rounds) { for (int i = 0; i < rounds; i++) make(); }

    public static void main(String[] args) throws Exception {
      var threads = (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
      threads.getCurrentThreadAllocatedBytes();
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        int n = Integer.parseInt(line.split(" ")[1]);
        boolean makes = line.startsWith("makes");
        long before = threads.getCurrentThreadAllocatedBytes();
        // A root is also entered and left sometimes.
        for (int k = 0; k < 100; k++) {
          if (makes) makes(n / 100);
          else root(n / 100);
        }
        System.out.println("took " + (threads.getCurrentThreadAllocatedBytes() - before));
      }
    }
  }`

/** Number of calls per round. */
const CALLS = 13
const ROUNDS = FULL ? 500_000 : 50_000
/** Size of an array of two numbers, with its header. */
const ARRAY_BYTES = 24

const METHOD = ['--root', 'Frugal.root', '--root', 'Frugal.makes']
const MODES: readonly (readonly [name: string, flags: readonly string[]])[] = [
  ['times', METHOD],
  ['times, scheme A', [...METHOD, '--scheme', 'a']],
  ['counts', [...METHOD, '--mode', 'count']],
  ['bytecodes', [...METHOD, '--mode', 'bytecodes']],
  ['samples by bytecodes', [...METHOD, '--mode', 'sample', '--every', '1000bc']],
  ['regions', ['--region', 'Frugal.leaf', '--region', 'Frugal.make']],
  ['locks', [...METHOD, '--mode', 'locks']],
  ['allocations', [...METHOD, '--mode', 'alloc']],
  ['one of 100 allocations', [...METHOD, '--mode', 'alloc', '--sample-every', '100']],
  ['call sites', [...METHOD, '--call-sites']],
  ['followed threads', [...METHOD, '--follow-threads']],
  ['slow calls', [...METHOD, '--slow', 'p99']],
  ['traces', [...METHOD, '--trace', '5']],
]

/** Returns the number of bytes that the calling thread has allocated. */
async function took(java: JavaProcess, line: string): Promise<number> {
  const nth = java.stdout().split('\ntook ').length
  java.send(line)
  return Number(/\d+/.exec(await java.line(/^took /, nth))![0])
}

async function start(jdk: Jdk): Promise<JavaProcess> {
  const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Frugal': FRUGAL }), 'fix.Frugal'])
  await java.line(/^ready/)
  return java
}

forNewestJdk((jdk) => {
  describe(`${(ROUNDS * CALLS) / 1e6} million calls with probes`, () => {
    it.each(FULL ? MODES : MODES.slice(0, 1))(
      'with probes for %s, calls allocate no bytes on the heap',
      { timeout: 600_000 },
      async (name, flags) => {
        const java = await start(jdk)
        await trials(`${(ROUNDS * CALLS) / 1e6} million calls: ${name}`, jdk, times(1, 2), async () => {
          const recording = startRecording(java.pid, ...flags)
          await recording.started
          // First invocations send a request to the client, which allocates.
          for (const line of ['root 1000', 'makes 1000']) await took(java, line)
          const bytes = await took(java, `root ${ROUNDS}`)
          const made = await took(java, `makes ${ROUNDS}`)
          const { events, mode } = await recording.stop()
          expect(events.count, mode).toBeGreaterThan(0)
          const more = made - ROUNDS * ARRAY_BYTES
          return {
            harm: [
              ...(bytes === 0 ? [] : [`${ROUNDS} rounds took ${bytes} bytes`]),
              ...(more <= 0 ? [] : [`making ${ROUNDS} arrays took ${more} bytes more than they have`]),
            ],
            profile: 'kept',
            left: await remainsOf(java.pid, [recording.process.pid]),
          }
        })
      },
    )
  })
})
