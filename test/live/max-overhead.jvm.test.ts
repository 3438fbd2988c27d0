// --max-overhead selects scheme adaptive even for small programs, and limits the timed methods.

import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { TIMED } from '../../src/cct/merge-samples.ts'
import { commandOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, startRecording } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { until } from './remains.ts'

/** A step takes some microseconds. Its probes cost 0.1 to 5 % of this time. */
const PROGRAM = {
  'fix/Steps.java': `package fix;
    public class Steps {
      static volatile int sink;
      static int step(int x) {
        for (int i = 0; i < 4000; i++) x = (x ^ i) * 0x9e3779b1 + (x >>> 7);
        return x;
      }
      static void root() {
        int x = sink;
        for (int i = 0; i < 100; i++) x = step(x + i);
        sink = x;
      }
      public static void main(String[] args) throws Exception {
        Thread running = new Thread(() -> { for (;;) root(); });
        running.setDaemon(true);
        running.start();
        System.out.println("ready");
        while (System.in.read() != -1) { }
      }
    }`,
}

forNewestJdk((jdk) => {
  let steps: string
  beforeAll(async () => {
    steps = await compileJava(jdk, PROGRAM)
  })

  const knownTree = async (): Promise<JavaProcess> => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '1', '3'])
    await java.line(/^ready/)
    return java
  }

  it('record with --max-overhead uses scheme adaptive and counts calls of the root', async () => {
    const java = await knownTree()
    const recording = startRecording(java.pid, '--max-overhead', '2%', '--root', 'fix.KnownTree.task')
    await recording.started
    java.send('run')
    await java.line(/^done/)
    const { detach, instrumentation, merged, scheme } = await recording.stop()
    expect(scheme).toBe('adaptive')
    expect(merged.map(({ method, calls }) => [method, calls])).toEqual([['task', 1]])
    expect(instrumentation).toMatchObject({ gaps: 0, redefinitions: 1 })
    expect(detach).toMatchObject({ left: [], refusedClasses: 0 })
  })

  it.each(['a', 'b'])('--scheme %s with --max-overhead is refused before the attach', async (scheme) => {
    const java = await knownTree()
    const out = ['--duration', '1s', '--out', join(temporaryDirectory(), 'p.jfluid')]
    const asked = ['--max-overhead', '2%', '--scheme', scheme, '--root', 'fix.KnownTree.task']
    const ran = await jfluid('record', `${java.pid}`, ...asked, ...out)
    expect(ran.code).toBe(64)
    expect(ran.stderr).toMatch(
      `--max-overhead cannot be combined with --scheme ${scheme}, which times all methods`,
    )
    expect(ran.stderr).toContain('Use --scheme adaptive')
  })

  const recorded = async (maxOverhead: number, decided: (session: Session) => Promise<boolean>) => {
    const java = startJava(jdk, ['-cp', steps, 'fix.Steps'])
    await java.line(/^ready/)
    const options = await commandOptions({ root: ['fix.Steps.root'], maxOverhead, yes: true })
    const session = await Session.start(await attachDoor(java.pid), options)
    await until(() => decided(session))
    const timed = await timesSteps(session)
    await session.detach()
    expect(session.detachFacts).toMatchObject({ left: [], refusedClasses: 0 })
    await session.close()
    return timed
  }

  itInFull('a method is timed if its probes cost less than half of --max-overhead', async () => {
    expect(await recorded(0.2, timesSteps)).toBe(true)
  })

  it('a method is not timed if its probes cost more than half of --max-overhead', async () => {
    const isDecided = async (session: Session) =>
      (await session.status()).warnings.some((it) =>
        it.startsWith('only the root is timed: all other methods are called too often'),
      )
    expect(await recorded(0.0002, isDecided)).toBe(false)
  })
})

async function timesSteps(session: Session): Promise<boolean> {
  const { merged } = await session.snapshot()
  return [...merged.method].some(
    (id, node) => session.methodName(id).method === 'step' && merged.metrics.known?.[node] === TIMED,
  )
}
