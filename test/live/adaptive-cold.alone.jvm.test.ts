// Scheme adaptive in a JVM whose first redefinition discards all compiled code: the methods of a frequently called root are chosen and timed
// while the code is compiled again. Then all rows are set to zero, and count compiled calls only.

import { expect } from 'vitest'
import { TIMED } from '../../src/cct/merge-samples.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { COLD_DURATION_MS } from '../../src/session/adaptive/pause.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forOldestJdk } from '../support/jdks.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { asPredicted } from './first-pause.ts'
import { until } from './remains.ts'

const PROGRAM = {
  'fix/Frequent.java': `package fix;
    public class Frequent {
      static volatile long sink;
      static void spin(long micros) { for (long end = System.nanoTime() + micros * 1000; System.nanoTime() < end;) sink++; }
      static void first() { spin(3000); }
      static void second() { spin(2000); }
      static void root() { first(); second(); }
      public static void main(String[] args) throws Exception {
        Thread running = new Thread(() -> { while (true) root(); });
        running.setDaemon(true);
        running.start();
        System.out.println("ready");
        while (System.in.read() != -1) { }
      }
    }`,
}

forOldestJdk((jdk) => {
  itOnlyIf(jdk.version <= 22, 'JDK 23 and later discard little compiled code')(
    'methods of a frequently called root are timed while code is cold, and the rows of the profile begin after that',
    async () => {
      const java = startJava(jdk, ['-cp', await compileJava(jdk, PROGRAM), 'fix.Frequent'])
      await java.line(/^ready/)
      const options = sessionOptions({ root: ['fix.Frequent.root'], scheme: 'adaptive' })
      const session = await Session.start(await attachDoor(java.pid), options)
      asPredicted(session)
      /** Returns the timed calls of a method. */
      const calls = async (name: string): Promise<number> => {
        const { merged } = await session.snapshot()
        const { known, calls: column } = merged.metrics
        return [...merged.method].reduce(
          (sum, id, node) =>
            session.methodName(id).method === name && known?.[node] === TIMED ? sum + column![node]! : sum,
          0,
        )
      }
      const rowsFromMs = async (): Promise<number> => (await session.profileSoFar('')).stacks!.rowsFromMs
      await until(async () => (await calls('first')) > 0)
      expect(await rowsFromMs()).toBeLessThan(COLD_DURATION_MS)
      await until(async () => (await rowsFromMs()) > COLD_DURATION_MS)
      await until(async () => (await calls('second')) > 0)
      await session.detach()
      const { instrumentation, stacks } = await session.profile()
      expect(stacks!.rowsFromMs).toBeGreaterThan(COLD_DURATION_MS)
      expect(instrumentation).toMatchObject({ gaps: 0, redefinitions: 2 })
      const roots = await calls('root')
      // The last root call may have been ended by the detach.
      for (const name of ['first', 'second'])
        expect(Math.abs((await calls(name)) - roots)).toBeLessThanOrEqual(1)
      await session.close()
    },
  )
})
