// --rare watch: what runs seldom or never gets its probes when it has run, and the profile says what is missing.

import { expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forOldestJdk } from '../support/jdks.ts'
import { callsByPath, type JsonProfile } from '../support/jfluid.ts'
import { until } from './remains.ts'

const PROGRAM = {
  'rare/Main': `
    package rare;
    public class Main {
      static int sum;
      static int work(int x) {
        int y = usual(x);
        if (x == 7) y += seldom(x);
        if (x == 8) y += new Later().later(x);
        if (x == 9) y += twin(x);
        if (x == 10) y += popular(x);
        return y;
      }
      static int usual(int x) { return inner(x) + 1; }
      static int inner(int x) { return x * 31 ^ sum; }
      static int seldom(int x) { return below(x) + 2; }
      static int below(int x) { return x * x + 3 * x + sum; }
      static int popular(int x) { return x * x + 5 * x + sum; }
      static int twin(int x) { return x * x + 4 * x + sum; }
      public static void main(String[] args) throws Exception {
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null; ) {
          String[] words = line.split(" ");
          boolean outside = words[1].equals("outside");
          for (int i = Integer.parseInt(words[0]); i > 0; i--) sum += outside ? popular(i) : work(Integer.parseInt(words[1]));
          System.out.println("done " + line);
        }
      }
    }
    class Later { int later(int x) { return x; } }`,
}
const ROOT = 'rare.Main.work'

forOldestJdk((jdk) => {
  async function started() {
    const java = startJava(jdk, ['-cp', await compileJava(jdk, PROGRAM), 'rare.Main'])
    await java.line(/^ready$/)
    const turns = new Map<string, number>()
    const run = async (what: string) => {
      const nth = (turns.get(what) ?? 0) + 1
      turns.set(what, nth)
      java.send(what)
      await java.line(new RegExp(`^done ${what}$`), nth)
    }
    const record = async () =>
      Session.start(await attachDoor(java.pid), sessionOptions({ root: [ROOT], scheme: 'b', rare: 'watch' }))
    return { java, run, record }
  }

  async function profileOf(session: Session): Promise<JsonProfile & { warnings: string[] }> {
    await session.detach()
    const profile = JSON.parse([...jsonPieces(await session.profile())].join(''))
    await session.close()
    return profile
  }

  /** Calls so far of methods of the program, by name. */
  async function callsIn(session: Session): Promise<Map<string, number>> {
    const { merged } = await session.snapshot(false)
    const calls = new Map<string, number>()
    merged.method.forEach((id, node) => {
      const { method } = session.methodName(id)
      calls.set(method, (calls.get(method) ?? 0) + merged.metrics.calls![node]!)
    })
    return calls
  }

  it('a method that had never run is left alone until it does; what is missing is told, and what follows is exact', async () => {
    const { java, run, record } = await started()
    await run('20000 1')
    const session = await record()
    await run('50 1')
    let runs = 50
    let calls = new Map<string, number>()
    // The first calls of `seldom` are missing. It gets its probes some time after the first.
    await until(async () => {
      await run('1 7')
      runs++
      await until(async () => {
        calls = await callsIn(session)
        return calls.get('work') === runs
      })
      return calls.has('seldom')
    })
    expect(runs).toBeGreaterThan(51)
    await run('3 7')
    await run('2 8')
    const profile = await profileOf(session)
    await java.kill()
    const found = new Map(profile.methods.map((it) => [it.method, it.calls]))
    for (const it of ['work', 'usual', 'inner']) expect(found.get(it), it).toBe(runs + 5)
    const seldom = calls.get('seldom')! + 3
    expect(found.get('seldom')).toBe(seldom)
    expect(found.get('below')).toBe(seldom)
    // Of a class that was not loaded nothing is rare.
    expect(found.get('later')).toBe(2)
    // work, usual, inner, seldom, below, and Later's two: `twin` never ran.
    expect(profile.instrumentation.instrumentedMethods).toBe(7)
    expect(profile.instrumentation.gaps).toBe(2)
    expect(profile.warnings.join()).toContain('rare.Main.seldom')
    const late = profile.instrumentation.skipped.filter(({ reason }) =>
      reason.startsWith('ran seldom or never'),
    )
    expect(late.map(({ method }) => method).sort()).toEqual(['rare.Main.below(I)I', 'rare.Main.seldom(I)I'])
  })

  it('a method that runs often outside of the root is left alone until the root has been seen to call it', async () => {
    const { java, run, record } = await started()
    await run('20000 1')
    await run('20000 outside')
    const session = await record()
    await run('50 1')
    await run('20000 outside')
    expect((await callsIn(session)).has('popular')).toBe(false)
    let runs = 50
    let calls = new Map<string, number>()
    // The JVM keeps no record before a method has run often enough; then the client has to look.
    await until(async () => {
      await run('300 10')
      runs += 300
      await until(async () => {
        calls = await callsIn(session)
        return calls.get('work') === runs
      })
      return calls.has('popular')
    })
    const seen = calls.get('popular')!
    expect(seen).toBeLessThan(runs - 50)
    await run('3 10')
    const profile = await profileOf(session)
    await java.kill()
    expect(profile.methods.find((it) => it.method === 'popular')?.calls).toBe(seen + 3)
    expect(profile.warnings.join()).toContain('rare.Main.popular')
    expect(profile.instrumentation.gaps).toBe(1)
  })

  it('a root that has hardly run has no usual: every method gets probes, and that is said', async () => {
    const { java, run, record } = await started()
    await run('5 1')
    const session = await record()
    await run('2 7')
    const profile = await profileOf(session)
    await java.kill()
    expect(profile.warnings.join()).toContain('--rare watch had no effect')
    expect(profile.instrumentation.gaps).toBe(0)
    expect([...callsByPath(profile.merged).values()].sort()).toEqual([2, 2, 2, 2, 2])
  })
})
