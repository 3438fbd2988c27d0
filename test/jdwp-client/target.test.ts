// The typed commands against a peer, and against a real JVM.

import { describe, expect, it } from 'vitest'
import { encodeId, encodeInt, encodeString } from '../../src/jdwp-client/packet.ts'
import { JdwpTarget, STATUS_INITIALIZED, STATUS_PREPARED } from '../../src/jdwp-client/target.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { startPeer } from './peer.ts'

const JDWP = '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0'

it('ids have the sizes that the JVM states', async () => {
  const sizes = Buffer.concat([2, 4, 3, 3, 8].map(encodeInt))
  const peer = await startPeer((c) => {
    if (c.set === 1 && c.command === 7) return sizes
    if (c.set === 1) return Buffer.concat([encodeInt(1), Uint8Array.of(2), encodeId('00000a'), encodeInt(3)])
    expect(c.data.toString('hex')).toBe('00000a')
    return Buffer.concat([
      encodeInt(1),
      encodeId('cafebabe'),
      encodeString('run'),
      encodeString('()V'),
      encodeInt(9),
    ])
  })
  await using jvm = await JdwpTarget.connect(peer.port)
  const types = await jvm.classesBySignature('Lx/Y;')
  expect(types).toEqual({
    ok: true,
    value: [{ kind: 'interface', id: '00000a', signature: 'Lx/Y;', status: 3 }],
  })
  expect(await jvm.methods('00000a')).toEqual({
    ok: true,
    value: [{ id: 'cafebabe', name: 'run', descriptor: '()V', modifiers: 9 }],
  })
})

const PROGRAM = `
  public class Small {
    interface Shape { int area(); }
    static int twice(int x) { return x + x; }
    static native int foreign();
    public static void main(String[] args) throws Exception {
      System.out.println("ready " + twice(2) + Shape.class.getName());
      System.in.read();
    }
  }`

forEachJdk((jdk) => {
  describe('a real JVM', () => {
    it('shows classes, methods, code and constants, and takes the next debugger', async () => {
      const classes = await compileJava(jdk, { Small: PROGRAM }, { options: ['-g'] })
      const java = startJava(jdk, [JDWP, '-cp', classes, 'Small'])
      await java.line(/ready/)
      let before = 'none'
      for (const round of ['first', 'second']) {
        // It listens at another free port after each debugger.
        const told = await java.line(new RegExp(`Listening .* address: (?!${before}$)`))
        before = told.split(': ')[1]!
        const jvm = await JdwpTarget.connect(Number(before.split(':').at(-1)))
        expect(jvm.idSizes.referenceType, round).toBe(8)
        const found = await jvm.classesBySignature('LSmall;')
        if (!found.ok) throw new Error(`error ${found.error}`)
        const [small] = found.value
        expect(small).toMatchObject({ kind: 'class', signature: 'LSmall;' })
        expect(small!.status & (STATUS_PREPARED | STATUS_INITIALIZED)).toBe(6)

        const methods = await jvm.methods(small!.id)
        if (!methods.ok) throw new Error(`error ${methods.error}`)
        const named = (name: string) => methods.value.find((m) => m.name === name)!
        expect(methods.value.map((m) => m.name + m.descriptor).sort()).toEqual([
          '<init>()V',
          'foreign()I',
          'main([Ljava/lang/String;)V',
          'twice(I)I',
        ])
        // iload_0 iload_0 iadd ireturn
        expect(await jvm.bytecodes(small!.id, named('twice').id)).toEqual({
          ok: true,
          value: Buffer.of(26, 26, 96, 172),
        })
        expect(await jvm.bytecodes(small!.id, named('foreign').id)).toEqual({
          ok: true,
          value: Buffer.of(),
        })
        const [line] = PROGRAM.split('\n').flatMap((text, i) => (text.includes('twice(int') ? [i + 1] : []))
        expect(await jvm.lineTable(small!.id, named('twice').id)).toEqual({
          ok: true,
          value: [{ bci: 0, line }],
        })
        expect(await jvm.variableTable(small!.id, named('twice').id)).toEqual({
          ok: true,
          value: [{ bci: 0, length: 4, name: 'x', descriptor: 'I', slot: 0 }],
        })
        expect(await jvm.lineTable(small!.id, named('foreign').id)).toMatchObject({ ok: false })

        const pool = await jvm.constantPool(small!.id)
        if (!pool.ok) throw new Error(`error ${pool.error}`)
        expect(pool.value.count).toBeGreaterThan(10)
        expect(pool.value.bytes.includes('twice')).toBe(true)

        const all = await jvm.allClasses()
        if (!all.ok) throw new Error(`error ${all.error}`)
        const signatures = new Set(all.value.map((t) => t.signature))
        expect(['LSmall;', 'Ljava/lang/Object;', '[I'].every((s) => signatures.has(s))).toBe(true)
        expect(await jvm.methods('ffffffffffffffff')).toMatchObject({ ok: false })
        await jvm.dispose()
      }
      expect(java.stderr()).toBe('')
    })
  })
})
