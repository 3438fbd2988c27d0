// Scheme adaptive: a call has no probes if it began before its class was redefined. The row of such a call must be marked.

import { describe, expect, it } from 'vitest'
import type { Snapshot, Tree } from '../../src/cct/tree.ts'
import { UNSEEN } from '../../src/cct/unseen.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { reportText } from '../../src/profile/report.ts'
import { unseenPart } from '../../src/profile/sampled-rows.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { until } from './remains.ts'

/**
 * One thread calls the root and spends half of the root's time in `work`. Each input line starts a thread that stays in one call of `work`.
 */
const PROGRAM = {
  'fix/Lost.java': `package fix;
    public class Lost {
      static void root(boolean stays) throws InterruptedException { work(stays); Thread.sleep(5); }
      static void work(boolean stays) throws InterruptedException {
        do Thread.sleep(5); while (stays);
      }
      static void start(String name, boolean stays) {
        Thread thread = new Thread(() -> {
          try { while (true) root(stays); } catch (InterruptedException end) { throw new AssertionError(end); }
        }, name);
        thread.setDaemon(true);
        thread.start();
      }
      public static void main(String[] args) throws Exception {
        start("short", false);
        System.out.println("ready");
        while (System.in.read() != -1) { start("long", true); System.out.println("started"); }
      }
    }`,
}

const SAMPLES = 80

async function attached(jdk: Jdk): Promise<{ java: JavaProcess; session: Session }> {
  const java = startJava(jdk, ['-cp', await compileJava(jdk, PROGRAM), 'fix.Lost'])
  await java.line(/^ready/)
  const options = sessionOptions({ root: ['fix.Lost.root'], scheme: 'adaptive' })
  return { java, session: await Session.start(await attachDoor(java.pid), options) }
}

async function startLong(java: JavaProcess, session: Session): Promise<void> {
  java.send('')
  await java.line(/^started/)
  await until(async () => (await session.snapshot()).threads.some((it) => it.name === 'long'))
}

const samplesOf = ({ merged: { metrics } }: Snapshot): number =>
  (metrics.samples ?? []).reduce((sum, it, node) => sum + (metrics.known?.[node] === 0 ? it : 0), 0)

async function sampled(session: Session): Promise<Snapshot> {
  let snapshot = await session.snapshot()
  await until(async () => {
    snapshot = await session.snapshot()
    return samplesOf(snapshot) >= SAMPLES
  })
  return snapshot
}

const marked = (session: Session, tree: Tree): string[] =>
  [...tree.method]
    .filter((_, node) => (tree.metrics[UNSEEN]?.[node] ?? 0) > 0)
    .map((id) => session.methodName(id).method)

forEachJdk((jdk) => {
  describe('a call that still runs the code without probes', () => {
    it('a call that still runs the code without probes is marked in all trees that contain its samples, and the report explains the mark', async () => {
      const { java, session } = await attached(jdk)
      await startLong(java, session)
      expect(await session.time('fix.Lost.work')).toBe(1)
      // The merged tree is marked once enough samples show how large the share of the unrecorded call is.
      let { merged, threads } = await sampled(session)
      await until(async () => {
        ;({ merged, threads } = await sampled(session))
        return marked(session, merged).length > 0
      })
      const ofThread = (name: string) => marked(session, threads.find((it) => it.name === name)!.tree)
      expect(ofThread('short')).toEqual([])
      expect(ofThread('long')).toEqual(['work'])
      expect(marked(session, merged)).toEqual(['work'])
      // About half of all samples, since one of the two threads in the root is affected.
      expect(unseenPart(merged)).toBeGreaterThan(0.3)
      expect(unseenPart(merged)).toBeLessThan(0.7)
      await session.detach()
      const profile = await session.profile()
      await session.close()
      expect(profile.stacks!.unseenPart).toBeGreaterThan(0.3)
      const text = reportText(profile, { width: 400 })
      expect(text).toMatch(
        /^samples .*; \d\d\.\d % of those in rows contain calls that probes did not record$/m,
      )
      expect(text).toMatch(/fix\.Lost\.work(?: \[sleep \d+ %\])? !$/m)
      expect(text).toMatch(/^! samples show calls of this method that its probes did not record/m)
    })

    it('only the call that still runs the code without probes is marked, and later calls are counted', async () => {
      const { java, session } = await attached(jdk)
      expect(await session.time('fix.Lost.work')).toBe(1)
      await startLong(java, session)
      const { merged, threads } = await sampled(session)
      for (const tree of [merged, ...threads.map((it) => it.tree)]) {
        expect(marked(session, tree)).toEqual([])
        expect(unseenPart(tree)).toBe(0)
      }
      await session.detach()
      await session.close()
    })
  })
})
