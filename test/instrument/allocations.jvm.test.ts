// Runs code with allocation probes under HotSpot's verifier, and tests which allocation sites get probes.

import { beforeAll, describe, expect, it } from 'vitest'
import { spliceClass } from '../../src/classfile/splice.ts'
import { instrumentClass, type Recipe } from '../../src/instrument/class.ts'
import { compileJava } from '../support/java-process.ts'
import { jdks } from '../support/jdks.ts'
import { type Assembly, assemble } from './assembler.ts'
import { COUNTED_VALUE_EXITS, compileRuntime, runJava, VERIFY_ALL, writeClass } from './jvm.ts'

const RUNTIME = `
  package java.lang;
  public class JFluid1 {
    public static StringBuilder told = new StringBuilder();
    public static void countEntry(int id) {}
    public static void countExit(int n, int id) {}
    public static void countResume(int id) {}
    public static void countRootEntry(int id) {}
    public static void countRootExit(int n, int id) {}
    ${COUNTED_VALUE_EXITS}
    public static int countLoop(int n) { return 0; }
    public static int countCall(int n) { return 0; }
    public static void reflectiveCall(Object method) {}
    public static void allocated(Class<?> c) { told.append(" ").append(c.getSimpleName()); }
    public static void allocatedPrimitives(int n, int type) { told.append(" " + type + "x" + n); }
    public static void allocatedArray(Object[] a) { told.append(" " + a.getClass().getSimpleName() + "x" + a.length); }
    public static void allocatedArrays(Object a, int n) { told.append(" " + a.getClass().getSimpleName() + "/" + n); }
    public static void allocatedArraysOf(Object a) { told.append(" of"); }
    public static void allocatedObject(Object o) { told.append(" made"); }
    public static void allocatedPrimitiveArray(Object a) { told.append(" " + a.getClass().getSimpleName()); }
    public static void constructed(Object o) { told.append(" is " + o.getClass().getSimpleName()); }
    public static void allocatedBox(Object o) { told.append(" box"); }
    public static void allocatedString(Object o) { told.append(" string"); }
    public static void allocatedConcatenation(Object o) { told.append(" concatenation"); }
    public static void cloning() { told.append(" cloning"); }
    public static void allocatedClone(Object o) { told.append(" clone"); }
  }`

const MAIN = `
  public class AllocMain {
    public static void main(String[] calls) throws Exception {
      StringBuilder told = (StringBuilder) Class.forName("java.lang.JFluid1").getField("told").get(null);
      for (String call : calls) {
        String[] part = call.split(":");
        java.lang.reflect.Method run = Class.forName(part[0]).getMethod("run", int.class);
        told.setLength(0);
        Object result;
        try {
          result = run.invoke(null, Integer.parseInt(part[1]));
        } catch (java.lang.reflect.InvocationTargetException e) {
          result = e.getCause().getClass().getSimpleName();
        }
        System.out.println(call + " " + result + told);
      }
    }
  }`

interface Shape extends Partial<Assembly> {
  /** Whether the liveness of objects is recorded. */
  readonly liveness?: boolean
  readonly code: string
  /** Argument and outcome of each call. The outcome is the result followed by the reports of the probes. */
  readonly calls: readonly (readonly [argument: number, outcome: string])[]
}

const SHAPES: Readonly<Record<string, Shape>> = {
  // The allocation is reported before the constructor has run.
  Instance: {
    code: 'new java/lang/Object | dup | invokespecial java/lang/Object.<init>()V | pop | iconst_1 | ireturn',
    major: 49,
    calls: [[0, '1 Object']],
  },
  // Before Java 5 a class file cannot have class constants, so the allocation is not reported.
  OldInstance: {
    code: 'new java/lang/Object | dup | invokespecial java/lang/Object.<init>()V | pop | iconst_1 | ireturn',
    major: 48,
    calls: [[0, '1']],
  },
  // The instruction after an allocation is also the target of a branch, and the branch must not count as an allocation.
  BranchBehind: {
    code: 'iload_0 | ifeq make | aconst_null | goto behind | make: iconst_3 | newarray 10 | behind: pop | iload_0 | ireturn',
    calls: [
      [0, '0 10x3'],
      [1, '1'],
    ],
  },
  // An allocation that throws is not reported.
  Negative: {
    code: 'from: iload_0 | newarray 8 | arraylength | to: ireturn | handler: pop | iconst_m1 | ireturn',
    handlers: 'from..to -> handler',
    calls: [
      [5, '5 8x5'],
      [-5, '-1'],
    ],
  },
  Arrays: {
    code: 'iload_0 | anewarray java/lang/String | arraylength | ireturn',
    calls: [[4, '4 String[]x4']],
  },
  Boxes: {
    code: 'iload_0 | invokestatic java/lang/Integer.valueOf(I)Ljava/lang/Integer; | pop | iload_0 | ireturn',
    calls: [[4, '4 box']],
  },
  // An allocation in a loop that uses the whole stack.
  Loop: {
    code: 'top: iload_0 | newarray 4 | pop | iinc 0 -1 | iload_0 | ifgt top | iload_0 | ireturn',
    calls: [[3, '0 4x3 4x2 4x1']],
  },
}

const INSTANCE = 'new java/lang/Object | dup | invokespecial java/lang/Object.<init>()V'
const BUILDER = 'invokespecial java/lang/StringBuilder.<init>'

/** An instance whose constructor has returned is reported only if the position of the instance on the stack is known. */
const CONSTRUCTED: typeof SHAPES = {
  Constructed: { code: `${INSTANCE} | pop | iconst_1 | ireturn`, calls: [[0, '1 Object is Object']] },
  NoDup: {
    code: 'new java/lang/Object | invokespecial java/lang/Object.<init>()V | iconst_1 | ireturn',
    calls: [[0, '1 Object']],
  },
  // Two instances of one class are under construction at the same time, and the code for the arguments branches.
  Nested: {
    code:
      `new java/lang/StringBuilder | dup | iload_0 | ifeq other | new java/lang/StringBuilder | dup | ` +
      `${BUILDER}()V | goto both | other: iconst_2 | invokestatic java/lang/String.valueOf(I)Ljava/lang/String; | both: ${BUILDER}(Ljava/lang/CharSequence;)V | ` +
      'pop | iload_0 | ireturn',
    calls: [
      [0, '0 StringBuilder is StringBuilder'],
      [1, '1 StringBuilder StringBuilder is StringBuilder is StringBuilder'],
    ],
  },
  // The second reference is stored, so another value is on top of the stack after the constructor.
  Stored: {
    code: 'new java/lang/Object | dup | astore_1 | pop | iconst_5 | aload_1 | invokespecial java/lang/Object.<init>()V | ireturn',
    calls: [[0, '5 Object']],
  },
  // The two references are swapped with a value below them.
  Swapped: {
    code: 'iconst_4 | new java/lang/Object | dup_x1 | swap | pop | invokespecial java/lang/Object.<init>()V | iconst_2 | ireturn',
    calls: [[0, '2 Object']],
  },
  Moved: {
    code: 'iconst_4 | new java/lang/Object | dup | dup2_x1 | pop2 | swap | invokespecial java/lang/Object.<init>()V | swap | pop | ireturn',
    calls: [[0, '4 Object']],
  },
  // Arguments may be reordered among themselves.
  Arguments: {
    code: `new java/lang/StringBuilder | dup | iload_0 | iconst_1 | swap | dup_x1 | pop | iadd | ${BUILDER}(I)V | pop | iconst_3 | ireturn`,
    calls: [[2, '3 StringBuilder is StringBuilder']],
  },
  Array: { code: 'iload_0 | newarray 10 | arraylength | ireturn', calls: [[3, '3 int[]']] },
}

const ALL: typeof SHAPES = {
  ...SHAPES,
  ...Object.fromEntries(
    Object.entries(CONSTRUCTED).map(([name, it]) => [name, { ...it, major: 49, liveness: true }]),
  ),
}

describe.each(jdks)('allocation probes on JDK $version', (jdk) => {
  let outcomes: Map<string, string>

  beforeAll(async () => {
    const [runtime, classes] = await Promise.all([
      compileRuntime(jdk, RUNTIME),
      compileJava(jdk, { AllocMain: MAIN }),
    ])
    for (const [className, { code, handlers, major, liveness = false }] of Object.entries(ALL)) {
      const classFile = assemble({
        ...{ className, method: 'run(I)I', code },
        ...(handlers !== undefined && { handlers }),
        ...(major !== undefined && { major }),
      })
      const tasks = [{ methodIndex: 0, id: 40_000, probe: 'method' as const }]
      const recipe: Recipe = { tells: 'allocations', jdk: false, liveness }
      const { poolEntries, poolBytes, bodies, skipped } = instrumentClass(classFile, tasks, recipe)
      expect(skipped, className).toEqual([])
      writeClass(classes, className, spliceClass(classFile, poolEntries, poolBytes, bodies))
    }
    const calls = Object.entries(ALL).flatMap(([name, it]) => it.calls.map(([n]) => `${name}:${n}`))
    const patch = ['--patch-module', `java.base=${runtime}`]
    const ran = await runJava(jdk, [...VERIFY_ALL, ...patch, '-cp', classes, 'AllocMain', ...calls])
    expect(ran.code, ran.stderr).toBe(0)
    outcomes = new Map(
      ran.stdout
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
    )
  })

  const cases = Object.entries(ALL).flatMap(([name, { calls }]) => calls.map((it) => [name, ...it] as const))
  it.each(cases)('the probes of %s(%i) report the expected allocations: %s', (name, argument, outcome) => {
    expect(outcomes.get(`${name}:${argument}`)).toBe(outcome)
  })
})
