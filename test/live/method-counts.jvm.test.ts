// What a JVM's own counters say of methods that have run, against what a program says that it has run.

import { describe, expect, it } from 'vitest'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Memory } from '../../src/vmstructs/memory.ts'
import { MethodCounts } from '../../src/vmstructs/method-counts.ts'
import { readStructs } from '../../src/vmstructs/structs.ts'
import { Agent } from '../../src/wire/agent.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'

const LONG = `longer${'AndLonger'.repeat(12)}`

const PROGRAM = {
  'past/Ran': `
    package past;
    public class Ran extends Above implements Shape {
      int sum;
      Ran() { once(); }
      Ran(int never) { sum = never; }
      static int once() { return 1; }
      static int never() { return 2; }
      int often(int x) { sum += x; return sum; }
      void neverOften() { sum--; }
      void naïveÜber() {}
      void ${LONG}() {}
      void ${LONG}Never() {}
      static void throwing() { throw new IllegalStateException(); }
      public static void main(String[] args) throws Exception {
        Ran it = new Ran();
        for (int i = 0; i < 100_000; i++) it.often(i);
        it.naïveÜber();
        it.${LONG}();
        try { throwing(); } catch (IllegalStateException expected) { }
        it.corners();
        it.above();
        System.out.println("ready");
        System.in.read();
      }
    }
    class Above {
      void above() {}
      void aboveNever() {}
    }
    interface Shape {
      default int corners() { return 4; }
      default int cornersNever() { return 5; }
    }
    class Never {
      static int never() { return 6; }
    }`,
}

const RAN = {
  'past/Ran': [
    '<init>()V',
    ...['main([Ljava/lang/String;)V', 'naïveÜber()V', 'often(I)I', 'once()I', 'throwing()V', `${LONG}()V`],
  ],
  'past/Above': ['<init>()V', 'above()V'],
  'past/Shape': ['corners()I'],
}

forEachJdk((jdk) => {
  async function attached(options: readonly string[]) {
    const classes = await compileJava(jdk, PROGRAM)
    const java = startJava(jdk, [...options, '-cp', classes, 'past.Ran'])
    await java.line(/^ready$/)
    const door = await attachDoor(java.pid)
    const agent = new Agent(door.link)
    const { classes: loaded } = await agent.loadedClasses()
    const memory = new Memory(agent)
    const idOf = (name: string) => loaded.find((it) => it.name === name)?.id ?? 0
    return { java, agent, memory, loaded, idOf, leave: () => agent.detach().then(door.leave) }
  }

  describe('the methods that have run are those that the program has run', () => {
    it.each([
      ['as it starts', []],
      ['without class data sharing', ['-Xshare:off']],
      ['with wide class pointers', ['-XX:-UseCompressedClassPointers']],
      ['with a heap beyond compressed references', ['-XX:-UseCompressedOops']],
      ['with the second compiler only', ['-XX:-TieredCompilation']],
      ['collected by ZGC', ['-XX:+UseZGC']],
    ])('%s', async (_, options) => {
      const found = await methodsRun(options)
      for (const [name, methods] of Object.entries(RAN))
        expect([...found.get(name)!.keys()].sort(), name).toEqual([...methods].sort())
    })

    // The interpreter counts for the compilers only; the first one counts for the second, and inlines.
    it.each([
      ['interpreted only', ['-Xint']],
      ['with the first compiler only', ['-XX:TieredStopAtLevel=1']],
    ])('but some may be missing, and none is too many: %s', async (_, options) => {
      const found = await methodsRun(options)
      for (const [name, methods] of Object.entries(RAN))
        expect([...found.get(name)!.keys()].filter((it) => !methods.includes(it))).toEqual([])
      expect(found.size).toBe(Object.keys(RAN).length)
    })
  })

  async function methodsRun(options: readonly string[]): Promise<Map<string, ReadonlyMap<string, number>>> {
    const { java, agent, memory, idOf, leave } = await attached(options)
    const structs = await readStructs(memory, await agent.vmLibrary())
    const run = await MethodCounts.open(memory, agent, structs!)
    const names = Object.keys(RAN)
    const found = await run!.of(names.map(idOf))
    await leave()
    await java.kill()
    return new Map(names.map((name) => [name, found.get(idOf(name))!]))
  }

  it('what cannot be read is zeros, and the JVM does not notice', async () => {
    const { java, agent, memory, leave } = await attached([])
    const library = await agent.vmLibrary()
    const found = await memory.gather([0, 4096, library, 2 ** 47], 4)
    expect([0, 1, 2, 3].map((i) => found.u32(i))).toEqual([0, 0, 0x464c457f, 0])
    expect(await readStructs(memory, library + 4096)).toBeNull()
    await leave()
    expect(java.child.exitCode).toBeNull()
    await java.kill()
  })

  it('every loaded class is read, and a class that is no longer there has not run anything', async () => {
    const { java, agent, memory, loaded, leave } = await attached([])
    const run = await MethodCounts.open(memory, agent, (await readStructs(memory, await agent.vmLibrary()))!)
    const found = await run!.of([...loaded.map(({ id }) => id), 1 << 30])
    expect(found.size).toBe(loaded.length)
    const names = [...found.values()].flatMap((it) => [...it.keys()])
    expect(names.length).toBeGreaterThan(500)
    expect(names.filter((it) => !/^[^(]+\(.*\).+$/.test(it))).toEqual([])
    await leave()
    await java.kill()
  })
})
