// Runs instrumented classes in a JVM: replacements for the runtime class, classes of the runtime image, and a program that makes HotSpot's
// verifier check every class.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { EXACT_TIME, instrumentClass, type SkippedMethod } from '../../src/instrument/class.ts'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

/** HotSpot verifies every class with its type checker, including classes of the boot loader. */
export const VERIFY_ALL = [
  '-XX:+UnlockDiagnosticVMOptions',
  '-XX:+BytecodeVerificationLocal',
  '-XX:+BytecodeVerificationRemote',
]

/** Exit probes that pass a return value or an exception through, for runtimes that define only the exits of void methods. */
export const VALUE_EXITS = `
    public static int methodExit(int value, int id) { methodExit(id); return value; }
    public static long methodExit(long value, int id) { methodExit(id); return value; }
    public static float methodExit(float value, int id) { methodExit(id); return value; }
    public static double methodExit(double value, int id) { methodExit(id); return value; }
    public static Object methodExit(Object value, int id) { methodExit(id); return value; }
    public static Throwable methodThrown(Throwable thrown, int id) { methodExit(id); return thrown; }
    public static Throwable rootThrown(Throwable thrown, int id) { rootExit(id); return thrown; }`

/** The exits of VALUE_EXITS, for probes that count bytecodes. */
export const COUNTED_VALUE_EXITS = `
    public static int countExit(int value, int n, int id) { countExit(n, id); return value; }
    public static long countExit(long value, int n, int id) { countExit(n, id); return value; }
    public static float countExit(float value, int n, int id) { countExit(n, id); return value; }
    public static double countExit(double value, int n, int id) { countExit(n, id); return value; }
    public static Object countExit(Object value, int n, int id) { countExit(n, id); return value; }
    public static Throwable countThrown(Throwable thrown, int n, int id) { countExit(n, id); return thrown; }
    public static Throwable countRootThrown(Throwable thrown, int n, int id) { countRootExit(n, id); return thrown; }`

/** A runtime that does nothing, for a JDK with probes: these probes run before any class is initialized. */
export const SILENT_RUNTIME = `
  package java.lang;
  public class JFluid1 {
    public static void methodEntry(int id) {}
    public static void methodExit(int id) {}
    public static void methodResume(int id) {}
    public static void rootEntry(int id) {}
    public static void rootExit(int id) {}
    ${VALUE_EXITS}
    public static void reflectiveCall(Object method) {}
    public static void lockWanted(Object lock) {}
    public static void lockTaken() {}
    public static void calling(int target) {}
    public static void monitorHeld(Object lock, int target) {}
    public static void waitBegins(Object on, int kind) {}
    public static void waitEnds() {}
    public static void callWaits(Object on, int kind) {}
    public static void callWaited() {}
    public static void callSite(int site) {}
    public static void siteEntry() {}
  }`

/**
 * A runtime that keeps a stack per thread. At the end of the program it prints to stderr whether exits matched entries, and the number of
 * entries per id: `balance: 12 entered, 12 left, …`. An entry whose exit is missing is counted as lost when a caller exits.
 */
export const CHECKING_RUNTIME = `
  package java.lang;
  import java.util.*;
  public class JFluid1 {
    private static final Map<Thread, ArrayDeque<Integer>> stacks = new HashMap<>();
    private static final Map<Integer, Integer> entered = new TreeMap<>();
    private static int entries, exits, lost, wrong, reflective;
    static {
      Runtime.getRuntime().addShutdownHook(new Thread() {
        public void run() { report(); }
      });
    }
    private static synchronized void report() {
      int open = 0;
      for (ArrayDeque<Integer> stack : stacks.values()) open += stack.size();
      System.err.println("balance: " + entries + " entered, " + exits + " left, " + lost + " lost, "
          + wrong + " wrong, " + open + " open, " + reflective + " reflective");
      System.err.println("counts: " + entered);
    }
    private static synchronized ArrayDeque<Integer> stack() {
      return stacks.computeIfAbsent(Thread.currentThread(), t -> new ArrayDeque<>());
    }
    public static synchronized void methodEntry(int id) {
      entries++;
      stack().push(id);
      entered.merge(id, 1, Integer::sum);
    }
    public static synchronized void methodExit(int id) {
      ArrayDeque<Integer> stack = stack();
      if (!stack.contains(id)) { wrong++; return; }
      exits++;
      while (stack.pop() != id) lost++;
    }
    public static synchronized void methodResume(int id) {
      ArrayDeque<Integer> stack = stack();
      if (!stack.contains(id)) { wrong++; return; }
      while (stack.peek() != id) { stack.pop(); lost++; }
    }
    public static void rootEntry(int id) { methodEntry(id); }
    public static void rootExit(int id) { methodExit(id); }
    ${VALUE_EXITS}
    public static synchronized void reflectiveCall(Object method) { reflective++; }
  }`

/** Compiles a runtime into `dir`, which is then passed as `--patch-module java.base=dir`. */
export async function compileRuntime(jdk: Jdk, source: string, dir = temporaryDirectory()): Promise<string> {
  const sources = temporaryDirectory()
  mkdirSync(join(sources, 'java/lang'), { recursive: true })
  writeFileSync(join(sources, 'java/lang/JFluid1.java'), source)
  return compileJava(jdk, sources, {
    outDir: dir,
    release: null,
    options: ['--patch-module', `java.base=${sources}`],
  })
}

export interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}

export async function runJava(jdk: Jdk, args: readonly string[]): Promise<Outcome> {
  const java = startJava(jdk, args)
  const { code } = await java.exit
  return { code, stdout: java.stdout(), stderr: java.stderr() }
}

/** Inserts probes into every method that can have probes. `idOf` returns the id for a method index. */
export function instrumentAll(
  classFile: ClassFile,
  idOf: (methodIndex: number) => number,
  recipe = EXACT_TIME,
): { bytes: Uint8Array; skipped: readonly SkippedMethod[] } {
  const tasks = classFile.methods.map(({ index }) => ({
    methodIndex: index,
    id: idOf(index),
    probe: 'method' as const,
  }))
  const { poolEntries, poolBytes, bodies, skipped } = instrumentClass(classFile, tasks, recipe)
  return { bytes: spliceClass(classFile, poolEntries, poolBytes, bodies), skipped }
}

/** Returns the class files below a directory. */
export function classesIn(dir: string): { path: string; classFile: ClassFile }[] {
  return (readdirSync(dir, { recursive: true }) as string[])
    .filter((path) => path.endsWith('.class'))
    .sort()
    .map((path) => ({ path, classFile: parseClassFile(readFileSync(join(dir, path))) }))
}

export function writeClass(dir: string, name: string, bytes: Uint8Array): void {
  const file = join(dir, `${name}.class`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
}

/** Writes the classes of modules to a file as module name, length, and bytes. */
const IMAGE = `
  import java.io.*;
  import java.net.URI;
  import java.nio.file.*;
  public class Image {
    public static void main(String[] args) throws Exception {
      FileSystem jrt = FileSystems.getFileSystem(URI.create("jrt:/"));
      try (var out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(args[0]), 1 << 16))) {
        for (String module : modules(args)) {
          try (var files = Files.walk(jrt.getPath("/modules", module))) {
            for (Path file : (Iterable<Path>) files.sorted()::iterator) {
              if (!file.toString().endsWith(".class") || file.endsWith("module-info.class")) continue;
              byte[] bytes = Files.readAllBytes(file);
              out.writeUTF(module);
              out.writeInt(bytes.length);
              out.write(bytes);
            }
          }
        }
      }
    }
    static java.util.List<String> modules(String[] args) {
      if (!args[1].equals("ALL")) return java.util.List.of(args).subList(1, args.length);
      return ModuleLayer.boot().modules().stream().map(Module::getName).sorted().toList();
    }
  }`

/** Links the classes listed in a file (module, name), which verifies them, and prints the results. */
const LINK = `
  import java.nio.file.*;
  public class Link {
    public static void main(String[] args) throws Exception {
      int accepted = 0;
      for (String line : Files.readAllLines(Path.of(args[0]))) {
        String[] parts = line.split(" ");
        try {
          ClassLoader loader = ModuleLayer.boot().findLoader(parts[0]);
          Class.forName(parts[1], false, loader).getDeclaredMethods(); // links the class without initializing it
          accepted++;
        } catch (VerifyError | ClassFormatError e) {
          System.out.println("rejected " + parts[1] + ": " + e.getMessage().lines().limit(4).toList());
        } catch (Throwable e) {
          System.out.println("unlinked " + parts[1] + ": " + e);
        }
      }
      System.out.println("accepted " + accepted);
    }
  }`

export interface ImageClass {
  module: string
  bytes: Uint8Array
}

/** Compiles the tools of this file. */
export function compileTools(jdk: Jdk): Promise<string> {
  return compileJava(jdk, { Image: IMAGE, Link: LINK })
}

/** Returns the classes of the given modules of the runtime image. `ALL` stands for all modules. */
export async function imageClasses(
  jdk: Jdk,
  tools: string,
  modules: readonly string[],
): Promise<ImageClass[]> {
  const file = join(temporaryDirectory(), 'classes')
  const add = modules[0] === 'ALL' ? ['--add-modules', 'ALL-SYSTEM'] : []
  const { code, stderr } = await runJava(jdk, [...add, '-cp', tools, 'Image', file, ...modules])
  if (code !== 0) throw new Error(stderr)
  const data = readFileSync(file)
  const classes: ImageClass[] = []
  for (let at = 0; at < data.length; ) {
    const nameEnd = at + 2 + data.readUInt16BE(at)
    const end = nameEnd + 4 + data.readUInt32BE(nameEnd)
    classes.push({ module: data.toString('latin1', at + 2, nameEnd), bytes: data.subarray(nameEnd + 4, end) })
    at = end
  }
  return classes
}
