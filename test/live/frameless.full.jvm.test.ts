// JDK classes without stack map frames: before JDK 21 HotSpot keeps a StackMapTable only for classes that it verifies or loads from its
// class data archive. In a JVM without the archive, no JDK class has a StackMapTable.

import { expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { forOldestJdk } from '../support/jdks.ts'
import {
  AUTOSAVED,
  callsByMethod,
  type JsonProfile,
  recordedSoFar,
  startRecording,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'

/** `run n` calls each of three JDK methods n times. */
const CALLER = `
  import java.io.*;
  import java.util.*;
  import java.util.concurrent.*;
  public class Caller {
    static int root(int n) throws IOException {
      int found = 0;
      BitSet one = BitSet.valueOf(new long[] {1, 2}), same = BitSet.valueOf(new long[] {1, 2});
      BufferedReader reader = new BufferedReader(new StringReader("a line\\n".repeat(n)));
      ConcurrentLinkedQueue<String> queue = new ConcurrentLinkedQueue<>(Collections.nCopies(n, ""));
      for (int i = 0; i < n; i++) {
        if (one.equals(same)) found++;
        if (reader.readLine() != null) found++;
        if (queue.poll() != null) found++;
      }
      return found;
    }
    public static void main(String[] args) throws IOException {
      root(1);
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
      System.out.println("ready");
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        System.out.println("found " + root(Integer.parseInt(line)));
      }
    }
  }`

const CALLED = [
  'java.util.BitSet.equals(Ljava/lang/Object;)Z',
  'java.io.BufferedReader.readLine()Ljava/lang/String;',
  'java.util.concurrent.ConcurrentLinkedQueue.poll()Ljava/lang/Object;',
]

/** Returns the calls of CALLED. */
function callsIn(profile: JsonProfile): number[] {
  const calls = callsByMethod(profile)
  return CALLED.map((name) => calls.get(name) ?? 0)
}

forOldestJdk((jdk) => {
  // From JDK 21 on the archive makes no difference. For older JDKs, adding.jvm.test.ts counts JDK methods with the archive.
  const archive = FULL && jdk.version < 21 ? ['auto', 'off'] : ['off']
  it.each(archive)('JDK methods without stack map frames are counted with -Xshare:%s', async (share) => {
    const classes = await compileJava(jdk, { Caller: CALLER })
    const java = startJava(jdk, [`-Xshare:${share}`, '-cp', classes, 'Caller'])
    await java.line(/ready/)
    const flags = ['--root', 'Caller.root', '--jdk', '--yes', '--scheme', 'b', ...AUTOSAVED]
    const recording = startRecording(java.pid, ...flags)
    await recording.started
    // The first call of the root gives probes to hundreds of methods. On a busy machine, a thread does not wait that long.
    let runs = 1
    java.send('1')
    await recordedSoFar(recording, (profile) => {
      if (callsIn(profile).every((calls) => calls > 0)) return true
      runs++
      java.send('1')
      return false
    })
    java.send('250')
    await java.line(/found 750/)
    const profile = await recording.stop()
    const { instrumentation } = profile
    for (const calls of callsIn(profile)) {
      expect(calls).toBeLessThanOrEqual(250 + runs)
      expect(calls).toBeGreaterThanOrEqual(instrumentation.gaps === 0 ? 250 + runs : 251)
    }
    expect(instrumentation.skipped.filter(({ reason }) => /type-check/.test(reason))).toEqual([])
  })
})
