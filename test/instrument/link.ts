// Whole jars in a JVM that verifies everything: each class as it was and with probes.

import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type NamedClass, pack } from '../typecheck/verdicts.ts'
import { runJava, VERIFY_ALL } from './jvm.ts'

/** Links the classes of a file in a loader that looks there first; one verdict a line. */
const LINK_PACK = `
  import java.io.*;
  import java.net.URL;
  import java.util.*;
  public class LinkPack {
    static Map<String, byte[]> read(String file) throws IOException {
      Map<String, byte[]> classes = new LinkedHashMap<>();
      try (var in = new DataInputStream(new BufferedInputStream(new FileInputStream(file), 1 << 16))) {
        while (in.read() == 1) {
          String name = in.readUTF();
          classes.put(name, in.readNBytes(in.readInt()));
        }
      }
      return classes;
    }
    static class Pack extends ClassLoader {
      private final Map<String, byte[]> classes, stubs;
      Pack(Map<String, byte[]> classes, Map<String, byte[]> stubs) {
        super(ClassLoader.getPlatformClassLoader());
        this.classes = classes;
        this.stubs = stubs;
      }
      // Classes of the class path are defined here as well, so that they see the stubs.
      @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
        URL url = ClassLoader.getSystemResource(name.replace('.', '/') + ".class");
        if (url != null && url.getProtocol().equals("jrt")) return Class.forName(name, false, ClassLoader.getSystemClassLoader());
        byte[] bytes = stubs.get(name);
        if (url != null) {
          try (var in = url.openStream()) {
            bytes = in.readAllBytes();
          } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
          }
        }
        if (bytes == null) throw new ClassNotFoundException(name);
        return defineClass(name, bytes, 0, bytes.length);
      }
      @Override protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
          Class<?> known = findLoadedClass(name);
          if (known != null) return known;
          byte[] bytes = classes.get(name);
          return bytes == null ? super.loadClass(name, resolve) : defineClass(name, bytes, 0, bytes.length);
        }
      }
      String verdict(String name) {
        try {
          Class.forName(name, false, this).getDeclaredConstructors(); // links, does not initialise
          return "accepted";
        } catch (Throwable e) {
          return e.toString().lines().limit(6).toList().toString();
        }
      }
    }
    public static void main(String[] args) throws Exception {
      Map<String, byte[]> stubs = read(args[0]);
      Pack pack = new Pack(read(args[1]), stubs);
      try (var out = new PrintStream(new FileOutputStream(args[2]), false, "UTF-8")) {
        for (String name : pack.classes.keySet()) out.println(pack.verdict(name));
      }
    }
  }`

/** Verdicts on one class: `accepted`, or the error that linking it ended with. */
export interface Pair {
  readonly before: string
  readonly after: string
}

/** It runs for seconds, most of them in the verifier. */
const LEAN = ['-Xmx2g', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
/** Compiled once for each JDK. */
const compiled = new Map<Jdk, Promise<string>>()

/**
 * Links `before` and `after`, the same classes in the same order.
 *
 * @param classPath  jars for what they need besides each other and the JDK
 * @param stubs      stand in for what is nowhere
 */
export async function linkPairs(
  jdk: Jdk,
  before: readonly NamedClass[],
  after: readonly NamedClass[],
  classPath: readonly string[],
  stubs: readonly NamedClass[],
): Promise<Pair[]> {
  let tools = compiled.get(jdk)
  if (tools === undefined) {
    tools = compileJava(jdk, { LinkPack: LINK_PACK })
    compiled.set(jdk, tools)
  }
  const path = [await tools, ...classPath].join(delimiter)
  const verdicts = async (classes: readonly NamedClass[]): Promise<string[]> => {
    const dir = temporaryDirectory()
    const files = ['stubs', 'classes', 'verdicts'].map((name) => join(dir, name))
    writeFileSync(files[0], pack(stubs))
    writeFileSync(files[1], pack(classes))
    const args = [...VERIFY_ALL, ...LEAN, '-cp', path, 'LinkPack', ...files]
    const { code, stdout, stderr } = await runJava(jdk, args)
    if (code !== 0) throw new Error(stdout + stderr)
    const lines = readFileSync(files[2], 'utf8').trimEnd().split('\n')
    if (lines.length !== classes.length) throw new Error(`${lines.length} verdicts on ${classes.length}`)
    return lines
  }
  // A JVM each: in one, what the JDK's loader knows of one pack's classes (loader constraints) would be held
  // against the other's.
  const [one, other] = [await verdicts(before), await verdicts(after)]
  return one.map((verdict, i) => ({ before: verdict, after: other[i] }))
}
