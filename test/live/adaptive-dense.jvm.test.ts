// Scheme adaptive, with a program whose methods below the root are all called too often to be timed. The counted methods get their original
// code back, since unused probes would slow them down for the rest of the session. Their samples have no rows of their own.

import { expect, it } from 'vitest'
import { SHORT_NAME, TIMED } from '../../src/cct/merge-samples.ts'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { compareCode } from '../../src/session/proof.ts'
import { Session } from '../../src/session/session.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { asPredicted } from './first-pause.ts'
import { until } from './remains.ts'

const PROGRAM = {
  'fix/Dense.java': `package fix;
    public class Dense {
      static volatile int sink;
      static volatile int rounds = Integer.MAX_VALUE;
      static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
      static void root() { sink += fib(20); }
      public static void main(String[] args) throws Exception {
        Thread running = new Thread(() -> { for (int i = 0; i < rounds; i++) root(); System.out.println("done"); });
        running.setDaemon(true);
        running.start();
        System.out.println("ready");
        while (System.in.read() != -1) { }
      }
    }`,
}

/** Returns whether the JVM runs the original code of `fib`. */
async function fibHasOwnCode({ engine }: Session): Promise<boolean> {
  const classes = engine.instrumenter.classesBefore().filter(({ name }) => name === 'fix/Dense')
  const facts = await compareCode(engine.openCode(), classes, ({ bytes }) => {
    const file = parseClassFile(bytes)
    const fib = file.methods.filter(({ name }) => name === 'fib')
    return fib.map((method) => ({ method, code: parseCode(file, method) }))
  })
  expect(facts).toMatchObject({ checkedMethods: 1, unchecked: '' })
  return facts.originalClasses === 1
}

forNewestJdk((jdk) => {
  it('methods that are called too often get their original code back, and the user can still add them to the timed methods', async () => {
    const java = startJava(jdk, ['-cp', await compileJava(jdk, PROGRAM), 'fix.Dense'])
    await java.line(/^ready/)
    const options = sessionOptions({ root: ['fix.Dense.root'], scheme: 'adaptive' })
    const session = await Session.start(await attachDoor(java.pid), options)
    asPredicted(session)
    // Three redefinitions: the root, a batch of counted methods, and the batch's return to its original code.
    await until(() => (session.engine.arming?.pauses.length ?? 0) >= 3)
    expect(await fibHasOwnCode(session)).toBe(true)
    const rows = async () => {
      const { merged } = await session.snapshot()
      return [...merged.method].map((id) => session.methodName(id).method)
    }
    await until(async () => (await rows()).includes(SHORT_NAME.method))
    expect((await rows()).sort()).toEqual([SHORT_NAME.method, 'root'])
    expect((await session.status()).warnings).toEqual([
      expect.stringMatching(/^only the root is timed: .* too short to be timed \(short: fix\.Dense\.fib\)$/),
    ])
    const { callsPerSecond } = session.engine.inside!
    expect(callsPerSecond).toBeGreaterThan(0)
    expect(await session.pauseToTime('fix.Dense.fib')).toBeGreaterThan(0)
    // The probes of `fib` are inserted again and report each call.
    expect(await session.time('fix.Dense.fib')).toBe(1)
    expect(await fibHasOwnCode(session)).toBe(false)
    await until(async () => {
      const { merged } = await session.snapshot()
      return [...merged.method].some(
        (id, node) => session.methodName(id).method === 'fib' && merged.metrics.known?.[node] === TIMED,
      )
    })
    expect(await rows()).not.toContain(SHORT_NAME.method)
    await session.detach()
    expect(session.detachFacts).toMatchObject({ left: [], refusedClasses: 0, code: { different: [] } })
    await session.close()
  })
})
