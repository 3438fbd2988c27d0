// Redefinitions as the client sees them: many bodies in one redefinition, each with its own result. No session is active: the test sends
// commands to the agent and reads the code from the JVM.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { instrumentClass } from '../../src/instrument/class.ts'
import { Instrumenter, type Refusal, type Task } from '../../src/session/code/instrumenter.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Agent } from '../../src/wire/agent.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { type LiveCode, probed } from './live-code.ts'
import { HIGHEST, method, NO_EVENTS, openSwapped, PROGRAM } from './swapped.ts'

/** Returns code in which the argument is not loaded, so that the addition finds only one operand. */
const BROKEN_AT = 0x1a // iload_0
function broken(code: Uint8Array): Uint8Array {
  const bad = Uint8Array.from(code)
  bad[bad.indexOf(BROKEN_AT)] = 0 // nop
  return bad
}

/** Returns a rewriter that creates invalid code for one method, `two`. */
function brokenIn(className: string): typeof instrumentClass {
  return (classFile, tasks) => {
    const result = instrumentClass(classFile, tasks)
    const bodies = result.bodies.map((it) =>
      classFile.name === className && classFile.methods[it.methodIndex]!.name === 'two'
        ? { ...it, code: broken(it.code) }
        : it,
    )
    return { ...result, bodies }
  }
}

const textOf = (code: LiveCode, owner: string, ...names: string[]): (string | undefined)[] =>
  names.map((name) => code.get(method(owner, name)))

forNewestJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, PROGRAM)
  })

  const open = () => openSwapped(jdk, ['-cp', classes, 'fix.Swapped'])

  describe('one redefinition of many methods', () => {
    it('a method body that the verifier rejects affects only its own class', async () => {
      const { java, agent, a, b, c, before, live, extend, leave } = await open()
      await Promise.all([a, b, c].map((it) => extend(it)))
      const bad = { ...b.body('two'), code: broken(b.body('two').code) }
      const good = [a.body('one'), a.body('two'), b.body('one'), c.body('three')]
      const result = await agent.redefineMethods([...good, bad], [], HIGHEST)

      expect(result.refused).toEqual([{ classId: b.id, reason: expect.stringMatching(/VerifyError/) }])
      expect(result.calls).toBe(3) // three calls: for all classes; for the class that the JVM checked last; for the other classes
      const after = await live()
      expect(probed(after).sort()).toEqual([method('A', 'one'), method('A', 'two'), method('C', 'three')])
      const rest = [...before].filter(([name]) => !probed(after).includes(name))
      expect(rest.filter(([name, text]) => after.get(name) !== text)).toEqual([])
      java.send('')
      expect(await java.line(/^sum/)).toBe('sum 27')
      await leave()
    })
  })

  describe('code that is installed in a class', () => {
    it('code that is installed in one method of a class stays when another method of the class is redefined or refused', async () => {
      const { agent, a, live, extend, leave } = await open()
      await extend(a)
      await agent.redefineMethods([a.body('one')], [], HIGHEST)
      const first = await live()
      await extend(a)
      expect((await agent.redefineMethods([a.body('three')], [], HIGHEST)).refused).toEqual([])
      const second = await live()
      expect(probed(second).sort()).toEqual([method('A', 'one'), method('A', 'three')])
      expect(textOf(second, 'A', 'one', 'two')).toEqual(textOf(first, 'A', 'one', 'two'))

      const bad = { ...a.body('two'), code: broken(a.body('two').code) }
      expect((await agent.redefineMethods([bad], [], HIGHEST)).refused).toHaveLength(1)
      expect(await live()).toEqual(second)
      // A refused body is discarded and is not part of the next redefinition.
      expect((await agent.redefineMethods([a.body('one')], [], HIGHEST)).refused).toEqual([])
      expect(await live()).toEqual(second)
      await leave()
    })

    it('code that is installed in a class is replaced by the original code after a detach', async () => {
      const { java, agent, a, c, before, live, extend, leave } = await open()
      await Promise.all([extend(a), extend(c)])
      await agent.redefineMethods([a.body('one'), c.body('two')], [], HIGHEST)
      expect(probed(await live())).toHaveLength(2)
      const report = await leave(async () => {
        expect([...(await live())].filter(([name]) => before.has(name))).toEqual([...before])
      })
      expect(report).toMatchObject({ restoredClasses: 2, refusedClasses: 0 })
      java.send('')
      expect(await java.line(/^sum/)).toBe('sum 27')
    })
  })

  describe('a method body created from outdated class bytes', () => {
    it('a method body created from outdated class bytes is refused with the reason, and bodies of other classes are installed', async () => {
      const { agent, a, b, before, live, extend, leave } = await open()
      await extend(a, crc32(a.file.bytes) ^ 1)
      await extend(b)
      const result = await agent.redefineMethods([a.body('one'), b.body('one')], [], HIGHEST)
      expect(result.refused).toEqual([
        { classId: a.id, reason: 'its bytes have changed since it was analysed' },
      ])
      const after = await live()
      expect(probed(after)).toEqual([method('B', 'one')])
      expect(textOf(after, 'A', 'one', 'two')).toEqual(textOf(before, 'A', 'one', 'two'))
      // After the agent reads the bytes of A again, the body can be installed.
      await extend(a)
      expect((await agent.redefineMethods([a.body('one')], [], HIGHEST)).refused).toEqual([])
      expect(probed(await live()).sort()).toEqual([method('A', 'one'), method('B', 'one')])
      await leave()
    })
  })

  it('a method body that the verifier would reject is not inserted at class load, and the program gets no error', async () => {
    const { java, agent, live, leave } = await open()
    const instrumenter = new Instrumenter(agent, { unverified: () => false, rewriter: brokenIn('fix/Late') })
    const refused: Refusal[] = []
    agent.listen({
      ...NO_EVENTS,
      classLoading({ hook, id, name: className, bytes }) {
        const tasks = ['one', 'two', 'three'].map(
          (name, i): Task => ({
            ...{ id: 1 + i, classId: id, className },
            ...{ name, descriptor: '(I)I', probe: 'method' },
          }),
        )
        const { answer, refusals } = instrumenter.atLoad(id, bytes, tasks, [])
        refused.push(...refusals)
        agent.loadHook(hook, answer)
      },
    })
    await agent.enable()
    await agent.watch(false)
    java.send('l')
    expect(await java.line(/^late/)).toBe('late 9')
    expect(refused).toEqual([
      {
        task: expect.objectContaining({ name: 'two' }),
        reason: expect.stringMatching(/does not type-check/),
      },
    ])
    expect(probed(await live()).sort()).toEqual([method('Late', 'one'), method('Late', 'three')])
    await leave()
    expect(java.stderr()).not.toMatch(/VerifyError/)
  })

  it('roots are recorded after the client reports that all probes are installed', async () => {
    const { agent, a, leave, java } = await open()
    const root: Task = {
      ...{ id: 1, classId: a.id, className: a.file.name },
      ...{ name: 'one', descriptor: '(I)I', probe: 'root' },
    }
    let answers = 0
    const call = async () => {
      java.send('s')
      answers += 2 // the program answers the letter and the end of the line
      await java.line(/^sum/, answers)
      return (await agent.status()).threads.map(({ name }) => name)
    }
    await agent.enable()
    await new Instrumenter(agent).install([root], [1])
    expect(await call()).toEqual([])
    await agent.go()
    expect(await call()).toEqual(['main'])
    await leave()
  })

  it('a method that the verifier rejects does not prevent probes in other methods of its class', async () => {
    const { agent, a, b, live, leave } = await open()
    const tasks = [a, b].flatMap(({ id, file }, i) =>
      ['one', 'two', 'three'].map(
        (name, nth): Task => ({
          ...{ id: 1 + 3 * i + nth, classId: id, className: file.name },
          ...{ name, descriptor: '(I)I', probe: 'method' },
        }),
      ),
    )
    const instrumenter = new Instrumenter(agent, { unverified: () => false, rewriter: brokenIn('fix/A') })
    const { refusals } = await instrumenter.install(tasks, [])
    expect(refusals).toEqual([{ task: tasks[1], reason: expect.stringMatching(/VerifyError/) }])
    expect(probed(await live()).sort()).toEqual([
      ...[method('A', 'one'), method('A', 'three')],
      ...[method('B', 'one'), method('B', 'three'), method('B', 'two')],
    ])
    await leave()
  })

  it('classes that cannot be linked are identified at once and do not affect other classes', async () => {
    const needs = (kind: string) => `package fix; ${kind} { static int one(int x) { return x + 1; } MEMBERS }`
    const links = 'static void take(Base it) {} default void give(Missing it) { Above.take(it); }'
    const lazy = await compileJava(jdk, {
      'fix/Base': 'package fix; class Base {}',
      'fix/Missing': 'package fix; class Missing extends Base {}',
      // The verifier must know whether Missing is a subclass of Base.
      'fix/Broken': needs('class Broken').replace('MEMBERS', 'void give(Missing it) { Above.take(it); }'),
      'fix/Above': needs('interface Above').replace('MEMBERS', links),
      // The verifier needs no information about Missing.
      'fix/Sound': needs('class Sound').replace('MEMBERS', 'Sound(Missing it) {}'),
      'fix/Plain': needs('class Plain').replace('MEMBERS', ''),
      'fix/Lazy': `
        package fix;
        public class Lazy {
          public static void main(String[] args) throws Exception {
            for (String name : args) Class.forName("fix." + name, false, Lazy.class.getClassLoader());
            System.out.println("ready");
            System.in.read();
            System.out.println("sum " + (Sound.one(1) + Plain.one(1)));
          }
        }`,
    })
    rmSync(join(lazy, 'fix/Missing.class'))
    const names = ['Broken', 'Above', 'Sound', 'Plain']
    const java = startJava(jdk, ['-cp', lazy, 'fix.Lazy', ...names])
    await java.line(/^ready/)
    const door = await attachDoor(java.pid)
    const agent = new Agent(door.link)
    const { classes: loaded } = await agent.loadedClasses()
    const tasks = names.map((name, i): Task => {
      const classId = loaded.find((it) => it.name === `fix/${name}`)!.id
      const method = { name: 'one', descriptor: '(I)I', probe: 'method' } as const
      return { id: 1 + i, classId, className: `fix/${name}`, ...method }
    })
    const { refusals, results } = await new Instrumenter(agent).install(tasks, [])
    // Newer JVMs link a class before they return its bytes (JvmtiEnv::RetransformClasses).
    const shown = refusals.every(({ reason }) => reason !== 'the JVM does not show the bytes of its class')
    const reason = shown ? expect.stringMatching(/invalid class|NoClassDefFoundError/) : expect.any(String)
    expect(refusals).toEqual(tasks.slice(0, 2).map((task) => ({ task, reason })))
    // Redefinition calls: Plain; the three doubtful classes together; the first of them; the two others together; each of these two alone.
    expect(results.map(({ calls }) => calls)).toEqual([shown ? 6 : 2])
    const { restoredClasses } = await agent.detach()
    expect(restoredClasses).toBe(2)
    agent.close()
    door.leave()
    java.send('')
    expect(await java.line(/^sum/)).toBe('sum 4')
  })
})
