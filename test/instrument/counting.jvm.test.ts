// Methods that count their bytecodes: code that current compilers do not generate, run with HotSpot's verifier.

import { beforeAll, describe, expect, it } from 'vitest'
import { spliceClass } from '../../src/classfile/splice.ts'
import { instrumentClass, type Recipe } from '../../src/instrument/class.ts'
import { compileJava } from '../support/java-process.ts'
import { jdks } from '../support/jdks.ts'
import { type Assembly, assemble } from './assembler.ts'
import { COUNTED_VALUE_EXITS, compileRuntime, runJava, VERIFY_ALL, writeClass } from './jvm.ts'

const COUNTING_RUNTIME = `
  package java.lang;
  public class JFluid1 {
    public static long executed;
    public static int leaves;
    public static void countEntry(int id) {}
    public static void countLeaf(int n, int id) { executed += n; leaves++; }
    public static void countExit(int n, int id) { executed += n; }
    public static void countResume(int id) {}
    public static void countRootEntry(int id) {}
    public static void countRootExit(int n, int id) { executed += n; }
    ${COUNTED_VALUE_EXITS}
    public static int countLoop(int n) { executed += n; return 0; }
    public static int countCall(int n) { executed += n; return 0; }
    public static void reflectiveCall(Object method) {}
  }`

const MAIN = `
  public class CountMain {
    public static void main(String[] calls) throws Exception {
      java.lang.reflect.Field executed = Class.forName("java.lang.JFluid1").getField("executed");
      for (String call : calls) {
        String[] part = call.split(":");
        java.lang.reflect.Method run = Class.forName(part[0]).getMethod("run", int.class);
        long before = executed.getLong(null);
        int leavesBefore = Class.forName("java.lang.JFluid1").getField("leaves").getInt(null);
        Object result;
        try {
          result = run.invoke(null, Integer.parseInt(part[1]));
        } catch (java.lang.reflect.InvocationTargetException e) {
          result = e.getCause().getClass().getSimpleName();
        }
        int leaves = Class.forName("java.lang.JFluid1").getField("leaves").getInt(null) - leavesBefore;
        System.out.println(call + " " + result + " " + (executed.getLong(null) - before) + (leaves == 0 ? "" : " leaf"));
      }
    }
  }`

interface Shape extends Partial<Assembly> {
  readonly code: string
  /** Argument, result and number of executed bytecodes. */
  readonly calls: readonly (readonly [argument: number, result: number | string, executed: number])[]
}

const SHAPES: Readonly<Record<string, Shape>> = {
  Straight: { code: 'iload_0 | iconst_2 | imul | ireturn', calls: [[21, 42, 4]] },
  Branch: {
    code: 'iload_0 | ifeq zero | iconst_1 | ireturn | zero: iconst_2 | ireturn',
    calls: [
      [0, 2, 4],
      [5, 1, 4],
    ],
  },
  // The first instruction is the target of the loop.
  LoopAtStart: { code: 'top: iinc 0 -1 | iload_0 | ifgt top | iload_0 | ireturn', calls: [[3, 0, 11]] },
  Subroutine: {
    code: 'jsr sub | jsr sub | iconst_5 | ireturn | sub: astore_1 | iinc 0 1 | ret 1',
    calls: [[0, 5, 10]],
  },
  // A long occupies the parameter's slot and the next slot, so the counter is placed after all locals.
  LongAcross: {
    code: 'iload_0 | i2l | lstore_0 | lload_0 | l2i | ifeq zero | iconst_1 | ireturn | zero: iconst_2 | ireturn',
    calls: [
      [0, 2, 8],
      [9, 1, 8],
    ],
  },
  // Local 255 is moved to 256, which needs the wide forms.
  Wide: {
    code: 'iload_0 | istore 255 | top: iinc 255 -1 | iload 255 | ifgt top | iload 255 | ireturn',
    maxLocals: 256,
    calls: [[2, 0, 10]],
  },
  // Precise blocks: after a division that throws, the following instructions are not counted.
  Divides: {
    code: 'bipush 12 | iload_0 | idiv | istore_1 | iload_1 | ireturn',
    calls: [
      [4, 3, 6],
      [0, 'ArithmeticException', 3],
    ],
  },
  Caught: {
    code: 'from: bipush 12 | iload_0 | idiv | to: ireturn | handler: pop | iconst_m1 | ireturn',
    handlers: 'from..to -> handler',
    calls: [
      [4, 3, 4],
      [0, -1, 6],
    ],
  },
  Switch: {
    code: 'iload_0 | tableswitch 1 a b default c | a: bipush 10 | ireturn | b: iinc 0 5 | goto c | c: iload_0 | ireturn',
    calls: [
      [1, 10, 4],
      [2, 7, 6],
      [8, 8, 4],
    ],
  },
  // This block has more bytecodes than one iinc can add. The JVM executes this method only in the interpreter.
  Long: { code: 'goto body | body: nop*40000 | iload_0 | ireturn', calls: [[7, 7, 40_003]] },
}

/** Methods of one block without calls, which have one probe at the start. */
const LEAVES = ['Straight']

const PRECISE: Recipe = { tells: 'bytecodes', blocks: 'precise', jdk: false }

describe.each(jdks)('bytecode counting on JDK $version', (jdk) => {
  let told: Map<string, string>

  beforeAll(async () => {
    const [runtime, classes] = await Promise.all([
      compileRuntime(jdk, COUNTING_RUNTIME),
      compileJava(jdk, { CountMain: MAIN }),
    ])
    for (const [className, { code, handlers, maxLocals }] of Object.entries(SHAPES)) {
      const classFile = assemble({
        ...{ className, method: 'run(I)I', code },
        ...(handlers !== undefined && { handlers }),
        ...(maxLocals !== undefined && { maxLocals }),
      })
      const tasks = [{ methodIndex: 0, id: 1, probe: 'method' as const }]
      const { poolEntries, poolBytes, bodies, skipped } = instrumentClass(classFile, tasks, PRECISE)
      expect(skipped, className).toEqual([])
      writeClass(classes, className, spliceClass(classFile, poolEntries, poolBytes, bodies))
    }
    const calls = Object.entries(SHAPES).flatMap(([name, it]) =>
      it.calls.map(([argument]) => `${name}:${argument}`),
    )
    const patch = ['--patch-module', `java.base=${runtime}`]
    const ran = await runJava(jdk, [...VERIFY_ALL, ...patch, '-cp', classes, 'CountMain', ...calls])
    expect(ran.code, ran.stderr).toBe(0)
    const lines = ran.stdout.trim().split('\n')
    told = new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]))
  })

  const cases = Object.entries(SHAPES).flatMap(([name, { calls }]) =>
    calls.map((it) => [name, ...it] as const),
  )
  it.each(cases)('%s(%i) returns %s and counts %i bytecodes', (name, argument, result, executed) => {
    const isLeaf = LEAVES.includes(name)
    expect(told.get(`${name}:${argument}`)).toBe(`${result} ${executed}${isLeaf ? ' leaf' : ''}`)
  })
})
