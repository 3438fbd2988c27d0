// Runs small classes without and with a probe in every method, and returns the events of the probes as text:
//
//     run> risk> risk< run< -> outer
//
// A method of the class that is run is written with its name, a method of a nested class as `Inner.name`, and a bridge method with `~`.

import type { ClassFile } from '../../src/classfile/class-file.ts'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type Assembly, assemble } from './assembler.ts'
import {
  classesIn,
  compileRuntime,
  instrumentAll,
  runJava,
  VALUE_EXITS,
  VERIFY_ALL,
  writeClass,
} from './jvm.ts'

const ACC_BRIDGE = 0x40

/** Prints every event immediately, between the program's own lines. */
const TALKING_RUNTIME = `
  package java.lang;
  public class JFluid1 {
    private static void say(char way, int id) {
      System.out.print(way);
      System.out.println(id);
    }
    public static void methodEntry(int id) { say('>', id); }
    public static void methodExit(int id) { say('<', id); }
    public static void methodResume(int id) { say('^', id); }
    public static void rootEntry(int id) { say('>', id); }
    public static void rootExit(int id) { say('<', id); }
    ${VALUE_EXITS}
    public static void reflectiveCall(Object method) {}
  }`

/** Each argument is a call: `Class` or `Class:int` for its run method, or for its constructor with a boolean. */
const MAIN = `
  import java.lang.reflect.*;
  public class TraceMain {
    public static void main(String[] calls) {
      for (String call : calls) {
        System.out.println("= " + call);
        try {
          System.out.println("-> " + run(call.split(":")));
        } catch (InvocationTargetException e) {
          System.out.println("-> " + e.getCause());
        } catch (Throwable e) {
          System.out.println("-> " + e);
        }
      }
    }
    static Object run(String[] call) throws Exception {
      Class<?> type = Class.forName(call[0]);
      for (Method method : type.getDeclaredMethods()) {
        if (!method.getName().equals("run")) continue;
        method.setAccessible(true);
        return call.length == 1 ? method.invoke(null) : method.invoke(null, Integer.parseInt(call[1]));
      }
      type.getDeclaredConstructor(boolean.class).newInstance(call[1].equals("1"));
      return "made";
    }
  }`

export interface Shapes {
  /** Java sources, keyed by class name. */
  readonly java?: Record<string, string>
  readonly release?: number
  /** Assembled classes, keyed by class name. The default method is `run(I)I`. */
  readonly code?: Record<string, Partial<Assembly> & { code: string }>
}

export interface Traces {
  /** Results without probes, keyed by call. */
  readonly plain: ReadonlyMap<string, string>
  /** Events, `->` and result with probes, keyed by call. */
  readonly traced: ReadonlyMap<string, string>
  /** Complete output of the JVM with probes. */
  readonly output: string
  /** `Class.method: reason` for each skipped method, except abstract and native methods. */
  readonly skipped: readonly string[]
  /** Directories of the class files without and with probes. */
  readonly directories: readonly [string, string]
}

/**
 * @param calls    `Class`, or `Class:1` with an argument
 * @param options  further options for the JVM with probes
 */
export async function traceCalls(
  jdk: Jdk,
  { java = {}, release = 17, code = {} }: Shapes,
  calls: readonly string[],
  options: readonly string[] = [],
): Promise<Traces> {
  const [runtime, before] = await Promise.all([
    compileRuntime(jdk, TALKING_RUNTIME),
    compileJava(jdk, { TraceMain: MAIN, ...java }, { release, options: ['-g'] }),
  ])
  for (const [className, assembly] of Object.entries(code)) {
    writeClass(before, className, assemble({ className, method: 'run(I)I', ...assembly }).bytes)
  }
  const after = temporaryDirectory()
  const { names, skipped } = instrumentClasses(before, after)
  const [plain, traced] = await Promise.all([
    runJava(jdk, [...VERIFY_ALL, '-cp', before, 'TraceMain', ...calls]),
    runJava(jdk, [
      ...VERIFY_ALL,
      ...options,
      ...['--patch-module', `java.base=${runtime}`, '-cp', after, 'TraceMain', ...calls],
    ]),
  ])
  for (const { code: exit, stderr } of [plain, traced]) if (exit !== 0) throw new Error(stderr)
  return {
    plain: byCall(plain.stdout, names),
    traced: byCall(traced.stdout, names),
    output: traced.stdout,
    skipped,
    directories: [before, after],
  }
}

/** Inserts probes into all classes except the one that makes the calls. */
function instrumentClasses(from: string, to: string): { names: Map<number, string>; skipped: string[] } {
  const names = new Map<number, string>()
  const skipped: string[] = []
  for (const { classFile } of classesIn(from)) {
    let { bytes } = classFile
    if (classFile.name !== 'TraceMain') {
      const idOf = (index: number) => {
        const id = (names.size * 30011) % (1 << 22) // ids of every size
        const { name, access } = classFile.methods[index]
        names.set(id, `${classFile.name}.${name}${access & ACC_BRIDGE ? '~' : ''}`)
        return id
      }
      const result = instrumentAll(classFile, idOf)
      bytes = result.bytes
      for (const { methodIndex, reason } of result.skipped) {
        if (!/^(abstract|native)$/.test(reason)) {
          skipped.push(`${classFile.name}.${classFile.methods[methodIndex].name}: ${reason}`)
        }
      }
    }
    writeClass(to, classFile.name, bytes)
  }
  return { names, skipped }
}

function byCall(output: string, names: ReadonlyMap<number, string>): Map<string, string> {
  const traces = new Map<string, string>()
  let call = ''
  for (const line of output.trimEnd().split('\n')) {
    let word = line.replace(/^-> java\.lang\./, '-> ')
    if (line.startsWith('= ')) {
      call = line.slice(2)
      traces.set(call, '')
      continue
    }
    if (/^[<>^]\d+$/.test(line)) word = nameFor(call, names.get(Number(line.slice(1)))!) + line[0]
    traces.set(call, `${traces.get(call)} ${word}`.trim())
  }
  return traces
}

/** Returns a short name: in a call of Nests, `Nests$Inner.own` becomes `Inner.own`, and `Nests.run` becomes `run`. */
function nameFor(call: string, name: string): string {
  const [shape] = call.split(':')
  const rest = name.slice(shape.length + 1)
  return name.startsWith(`${shape}.`) || name.startsWith(`${shape}$`) ? rest : name
}

/** Returns the class files of a directory, keyed by class name. */
export function classFiles(dir: string): Map<string, ClassFile> {
  return new Map(classesIn(dir).map(({ classFile }) => [classFile.name, classFile]))
}
