// Locations of methods in JVM memory, found by their names in the program.

import { describe, expect, it } from 'vitest'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Memory, type MemoryPort } from '../../src/vmstructs/memory.ts'
import { MethodPlaces } from '../../src/vmstructs/method-places.ts'
import { readStructs } from '../../src/vmstructs/structs.ts'
import { Agent } from '../../src/wire/agent.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'

const LONG = `longer${'AndLonger'.repeat(12)}`

const PROGRAM = {
  'places/Own': `
    package places;
    public class Own extends Above implements Shape {
      int sum;
      Own(int of) { sum = of; }
      static native int elsewhere();
      int often(int x) { sum += x; return sum; }
      void naïveÜber() {}
      void ${LONG}() {}
      public static void main(String[] args) throws Exception {
        new Own(1).corners();
        System.out.println("ready");
        System.in.read();
      }
    }
    abstract class Above {
      abstract void naïveÜber();
      void above() {}
    }
    interface Shape {
      default int corners() { return 4; }
    }`,
}

const DECLARED = {
  'places/Own': [
    ...['<init>(I)V', 'elsewhere()I', 'often(I)I', 'naïveÜber()V', `${LONG}()V`],
    'main([Ljava/lang/String;)V',
  ],
  'places/Above': ['<init>()V', 'naïveÜber()V', 'above()V'],
  'places/Shape': ['corners()I'],
}

forNewestJdk((jdk) => {
  async function attached(options: readonly string[]) {
    const classes = await compileJava(jdk, PROGRAM)
    const java = startJava(jdk, [...options, '-cp', classes, 'places.Own'])
    await java.line(/^ready$/)
    const door = await attachDoor(java.pid)
    const agent = new Agent(door.link)
    const { classes: loaded } = await agent.loadedClasses()
    const memory = new Memory(agent)
    const idOf = (name: string) => loaded.find((it) => it.name === name)?.id ?? 0
    return { java, agent, memory, loaded, idOf, leave: () => agent.detach().then(door.leave) }
  }

  describe('locations of methods in JVM memory', () => {
    it.each([
      ['default options', []],
      ['without class data sharing', ['-Xshare:off']],
      ['with wide class pointers', ['-XX:-UseCompressedClassPointers']],
      ['with a heap beyond compressed references', ['-XX:-UseCompressedOops']],
      ['collected by ZGC', ['-XX:+UseZGC']],
    ])('methods are found in JVM memory, JVM variant: %s', async (_, options) => {
      const { java, agent, memory, idOf, leave } = await attached(options)
      const structs = await readStructs(memory, await agent.vmLibrary())
      const names = Object.keys(DECLARED)
      const found = await (await MethodPlaces.open(memory, agent, structs!))!.addresses(names.map(idOf))
      await leave()
      await java.kill()
      for (const [name, methods] of Object.entries(DECLARED))
        expect([...found.get(idOf(name))!.keys()].sort(), name).toEqual([...methods].sort())
      const addresses = [...found.values()].flatMap((it) => [...it.values()])
      expect(new Set(addresses).size).toBe(addresses.length)
    })
  })

  // On a busy machine, an answer may take 100 ms, and the check at the end of a short session has 3 s.
  it('the description of the JVM is read with at most 30 requests', async () => {
    const { java, agent, leave } = await attached([])
    let requests = 0
    const port: MemoryPort = {
      vmLibrary: () => agent.vmLibrary(),
      mirrorWords: (offset, ids) => agent.mirrorWords(offset, ids),
      peek: (length, addresses) => {
        requests++
        return agent.peek(length, addresses)
      },
    }
    const structs = await readStructs(new Memory(port), await agent.vmLibrary())
    await leave()
    await java.kill()
    expect(structs?.offset('Method._constMethod')).toBeGreaterThan(0)
    expect(requests).toBeLessThanOrEqual(30)
  })

  it('unreadable memory is read as zeros, without an effect on the JVM', async () => {
    const { java, agent, memory, leave } = await attached([])
    const library = await agent.vmLibrary()
    const found = await memory.gather([0, 4096, library, 2 ** 47], 4)
    expect([0, 1, 2, 3].map((i) => found.u32(i))).toEqual([0, 0, 0x464c457f, 0])
    expect(await readStructs(memory, library + 4096)).toBeNull()
    await leave()
    expect(java.child.exitCode).toBeNull()
    await java.kill()
  })

  it('the methods of every loaded class are found, and a class id that does not exist has no methods', async () => {
    const { java, agent, memory, loaded, leave } = await attached([])
    const structs = await readStructs(memory, await agent.vmLibrary())
    const places = (await MethodPlaces.open(memory, agent, structs!))!
    const found = await places.addresses([...loaded.map(({ id }) => id), 1 << 30])
    await leave()
    await java.kill()
    expect(found.size).toBe(loaded.length)
    const names = [...found.values()].flatMap((it) => [...it.keys()])
    expect(names.length).toBeGreaterThan(500)
    expect(names.filter((it) => !/^[^(]+\(.*\).+$/.test(it))).toEqual([])
  })
})
