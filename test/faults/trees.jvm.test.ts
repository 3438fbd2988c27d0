// A target that creates contexts without end: the client limits them, collapses the cheapest ones and reports this. The target does not
// wait beyond its limit, and calls per method stay exact.

import { expect, it } from 'vitest'
import { remainsOf, until } from '../live/remains.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { type JsonNode, startRecording, sumsAreExact } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { residentKib } from './footprint.ts'
import { times, trials } from './trials.ts'

/**
 * go n: n calls of the root, each through another sequence of DEPTH calls of METHODS methods. Prints the number of calls of each
 * method, and the longest root call. The program pauses sometimes, as a service does.
 */
const DEPTH = 12
const METHODS = 8
const MAZE = `
  package fix;
  public class Maze {
    static final long[] counts = new long[${METHODS}];
    static long state = 42;
    static int sum;
    static void next(int depth) {
      if (depth == 0) return;
      state = state * 6364136223846793005L + 1442695040888963407L;
      switch ((int) (state >>> 61)) {
        ${Array.from({ length: METHODS }, (_, i) => `case ${i} -> m${i}(depth - 1);`).join('\n        ')}
        default -> throw new AssertionError();
      }
    }
    ${Array.from(
      { length: METHODS },
      (_, i) => `static void m${i}(int depth) { counts[${i}]++; sum += ${i}; next(depth); }`,
    ).join('\n    ')}
    static void root() { next(${DEPTH}); }
    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        int n = Integer.parseInt(line.split(" ")[1]);
        long longest = 0;
        for (int i = 0; i < n; i++) {
          long start = System.nanoTime();
          root();
          longest = Math.max(longest, System.nanoTime() - start);
          if (i % 1000 == 999) Thread.sleep(10);
        }
        var told = new StringBuilder("went " + n + " longest " + longest / 1_000_000 + " counts");
        for (long count : counts) told.append(' ').append(count);
        System.out.println(told);
      }
    }
  }`

/** Maximum wait of a target for a chunk: the bound in src/bounds.md, plus the delay of a busy machine. */
const HELD_MS = 2500
const BOUND = 5000
const ROOT_CALLS = FULL ? 1_000_000 : 10_000
/** Maximum resident memory of the client with the default limit of contexts of a machine with 2 GiB or more. */
const MOST_MIB = 512

forEachJdk((jdk) => {
  it('contexts above the limit are collapsed, memory is bounded, and calls per method are complete', {
    timeout: FULL ? 3_600_000 : 60_000,
  }, async () => {
    const classes = await compileJava(jdk, { 'fix/Maze': MAZE })
    await trials('contexts without end', jdk, times(1, 3), async (_, n) => {
      const java = startJava(jdk, ['-cp', classes, 'fix.Maze'])
      await java.line(/ready/)
      // The default limit is tested only if there are enough contexts.
      const bound = FULL && n === 0 ? [] : ['--max-contexts', `${BOUND}`]
      const recording = startRecording(java.pid, '--root', 'fix.Maze.root', ...bound)
      await recording.started
      java.send(`go ${ROOT_CALLS}`)
      let mostKib = 0
      let told: string | undefined
      await until(() => {
        mostKib = Math.max(mostKib, residentKib(recording.process.pid))
        told = java.stdout().match(/^went .*$/m)?.[0]
        return told !== undefined
      })
      const profile = await recording.stop()
      const [longest, ...counts] = (told!.match(/\d+/g) ?? []).slice(1).map(Number)

      const harm: string[] = []
      if (longest! > HELD_MS) harm.push(`a call of the root took ${longest} ms`)
      const calls = Array.from(
        { length: METHODS },
        (_, i) => profile.methods.find(({ method }) => method === `m${i}`)?.calls ?? 0,
      )
      const { gaps } = profile.instrumentation
      const { nodes, rows } = counted(profile.merged)
      expect(rows).toBeGreaterThan(0)
      expect(sumsAreExact(profile.merged)).toBe(true)
      expect(profile.warnings.filter((it) => /collapsed contexts/.test(it))).toHaveLength(1)
      expect(profile.methods.filter(({ method }) => method.startsWith('('))).toEqual([])
      if (bound.length > 0) expect(nodes).toBeLessThan(BOUND + 4096)
      console.info(
        `JDK ${jdk.version}: ${profile.events.count} events, ${nodes} contexts, ${rows} of them rows of others; ` +
          `client ${Math.round(mostKib / 1024)} MiB at most, gaps ${gaps}`,
      )
      expect(mostKib / 1024).toBeLessThan(MOST_MIB)
      const left = await remainsOf(java.pid, [recording.process.pid])
      await java.kill()
      const isWhole = counts.every((count, i) => count === calls[i] || (gaps > 0 && count > calls[i]!))
      return {
        ...{ harm, left },
        profile: isWhole ? 'kept' : 'lost',
        ms: { 'a call of the root': longest! },
        figures: {
          events: [profile.events.count, ''],
          contexts: [nodes, ''],
          'rows of others': [rows, ''],
          client: [Math.round(mostKib / 1024), 'MiB'],
          gaps: [gaps, ''],
        },
      }
    })
  })
})

/** Returns the number of nodes, and how many of them are rows of collapsed contexts. */
function counted(roots: readonly JsonNode[]): { nodes: number; rows: number } {
  let [nodes, rows] = [0, 0]
  const left = [...roots]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    nodes++
    if (node.method === '(collapsed contexts)') rows++
    left.push(...node.children)
  }
  return { nodes, rows }
}
