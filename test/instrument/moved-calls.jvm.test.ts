import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { forEachInstruction, parseCode } from '../../src/classfile/code.ts'
import { instrumentClass } from '../../src/instrument/class.ts'
import { movedCalls } from '../../src/instrument/moved-calls.ts'
import { compileJava } from '../support/java-process.ts'
import { oldest } from '../support/jdks.ts'

const PROGRAM = {
  'moved/Main': `
    package moved;
    public class Main {
      static int calls(int x) {
        try {
          if (x > 3) return one(x);
          for (int i = 0; i < x; i++) { one(i); Runnable r = () -> one(3); r.run(); }
        } catch (RuntimeException e) { two(e); } finally { one(9); }
        return x == 2 ? one(1) : one(2);
      }
      static int one(int x) { return x; }
      static void two(Exception e) { }
      static int none(int x) { return x; }
    }`,
}

describe('the calls of a rewritten method', () => {
  it.each(['method', 'root'] as const)(
    'are those of its own code, in the same order, with a probe of a %s',
    async (probe) => {
      const folder = await compileJava(oldest, PROGRAM)
      const file = parseClassFile(readFileSync(join(folder, 'moved/Main.class')))
      const tasks = file.methods.map(({ index }) => ({ methodIndex: index, id: index + 1, probe }))
      const { bodies, poolEntries } = instrumentClass(file, tasks)
      expect(poolEntries).toBeGreaterThan(0)
      for (const { methodIndex, code } of bodies) {
        const { bytecode } = parseCode(file, file.methods[methodIndex])
        const moved = movedCalls(bytecode, code, file.pool.count)!
        const calls: number[] = []
        forEachInstruction(bytecode, (bci, opcode) => {
          if (opcode >= 182 && opcode <= 186) calls.push(bci)
        })
        expect([...moved.values()]).toEqual(calls)
        // The same instruction, with the same operands.
        for (const [now, before] of moved)
          expect([...code.subarray(8 + now, 8 + now + 3)]).toEqual([...bytecode.subarray(before, before + 3)])
      }
      expect(bodies.length).toBe(file.methods.length)
    },
  )

  it('cannot be told of another body', () => {
    expect(
      movedCalls(Uint8Array.of(0xb8, 0, 1, 0xb1), Uint8Array.of(0, 1, 0, 1, 0, 0, 0, 1, 0xb1), 9),
    ).toBeNull()
  })
})
