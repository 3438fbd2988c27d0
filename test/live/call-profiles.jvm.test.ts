// What a JVM's own profiles say that calls have led to, against what a program says that it has called.

import { describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { readBody } from '../../src/reveal/call-sites.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { CallProfiles } from '../../src/vmstructs/call-profiles.ts'
import { Memory } from '../../src/vmstructs/memory.ts'
import { MethodCounts } from '../../src/vmstructs/method-counts.ts'
import { readStructs } from '../../src/vmstructs/structs.ts'
import { Agent } from '../../src/wire/agent.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'

const PROGRAM = {
  'calls/Main': `
    package calls;
    import java.util.function.IntUnaryOperator;
    public class Main {
      static int sink;
      static int step(Shape one, Shape two, Shape many, boolean rare, Object text) {
        int sum = one.corners();
        sum += two.sides();
        sum += many.edges();
        sum += fixed(sum);
        if (rare) sum += never(sum);
        switch (sum & 3) { case 0: sum++; break; case 1: sum--; break; default: }
        if (text instanceof String) sum += ((String) text).length();
        IntUnaryOperator adder = x -> x + 1;
        return adder.applyAsInt(sum);
      }
      static int fixed(int x) { return x * 3; }
      static int never(int x) { return x * 5; }
      public static void main(String[] args) throws Exception {
        Shape[] all = { new A(), new B(), new C(), new D() };
        for (int i = 0; i < 3_000; i++) sink += step(all[0], all[i % 2], all[i % 4], false, "x");
        System.out.println("ready");
        System.in.read();
      }
    }
    interface Shape { int corners(); int sides(); int edges(); }
    class A implements Shape { public int corners() { return 1 + Main.sink; } public int sides() { return 1; } public int edges() { return 1; } }
    class B extends A { public int sides() { return 2; } public int edges() { return 2; } }
    class C extends A { public int edges() { return 3; } }
    class D extends A { public int edges() { return 4; } }`,
}

forEachJdk((jdk) => {
  async function observed(options: readonly string[]) {
    const classes = await compileJava(jdk, PROGRAM)
    const java = startJava(jdk, [...options, '-cp', classes, 'calls.Main'])
    await java.line(/^ready$/)
    const door = await attachDoor(java.pid)
    const agent = new Agent(door.link)
    const { classes: loaded } = await agent.loadedClasses()
    const ids = loaded.map(({ id }) => id)
    const memory = new Memory(agent)
    const structs = (await readStructs(memory, await agent.vmLibrary()))!
    const counts = (await MethodCounts.open(memory, agent, structs))!
    const main = loaded.find(({ name }) => name === 'calls/Main')!.id
    const all = await counts.addresses(ids)
    const profiles = await CallProfiles.open(
      memory,
      structs,
      [...all.values()].flatMap((it) => [...it.values()]),
    )
    const klasses = await counts.klasses(ids)
    const step = [...all.get(main)!].find(([selector]) => selector.startsWith('step('))!
    const profile = (await profiles?.of([step[1], 0, 4096], (klass) => klasses.get(klass))) ?? null
    const file = parseClassFile((await agent.classBytes([main]))[0]!)
    const { calls } = readBody(file, file.methods.find(({ name }) => name === 'step')!)
    await agent.detach()
    door.leave()
    await java.kill()
    const nameOf = (id: number) => loaded.find((it) => it.id === id)!.name.replace('calls/', '')
    return { profile, calls, nameOf }
  }

  describe('a call has led to what the program has called', () => {
    it.each([
      ['as it starts', [], 2],
      ['with wide class pointers', ['-XX:-UseCompressedClassPointers'], 2],
      ['with one class of receivers a call', ['-XX:TypeProfileWidth=1'], 1],
      ['with four classes of receivers a call', ['-XX:TypeProfileWidth=4'], 4],
      ['with types of arguments and results', ['-XX:TypeProfileLevel=222'], 2],
      ['without types of arguments', ['-XX:TypeProfileLevel=0'], 2],
    ])('%s', async (_, options, width) => {
      const { profile, calls, nameOf } = await observed(options)
      expect(profile!.slice(1)).toEqual([null, null])
      const of = (name: string) => {
        const bci = calls.find(
          ({ site }) => site.kind !== 'init' && 'name' in site && site.name === name,
        )!.bci
        const { receivers, others } = profile![0]!.get(bci)!
        return { receivers: [...receivers.keys()].map(nameOf).sort(), others }
      }
      expect(of('corners')).toEqual({ receivers: ['A'], others: 0 })
      if (width >= 2) expect(of('sides')).toEqual({ receivers: ['A', 'B'], others: 0 })
      else expect(of('sides').others).toBeGreaterThan(0)
      expect(of('edges').receivers).toHaveLength(width)
      if (width >= 4) expect(of('edges').others).toBe(0)
      else expect(of('edges').others).toBeGreaterThan(0)
      expect(of('fixed').others).toBeGreaterThan(0)
      expect(of('never')).toEqual({ receivers: [], others: 0 })
      // Of a final class, whose method nothing overrides: who calls it may or may not tell the receiver.
      const length = of('length')
      expect(length.others + length.receivers.length).toBeGreaterThan(0)
    })
  })

  it.each([
    ['interpreted only', ['-Xint']],
    ['with the first compiler only', ['-XX:TieredStopAtLevel=1']],
  ])('a JVM without profiles shows none: %s', async (_, options) => {
    const { profile } = await observed(options)
    expect(profile).toBeNull()
  })
})
