// Links whole jars in a JVM that verifies everything: each class without and with probes.

import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type NamedClass, pack } from '../typecheck/verdicts.ts'
import { runJava, VERIFY_ALL } from './jvm.ts'

/** Links the classes of a file in a class loader that prefers these classes. Writes one verdict per line. */
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
      // Defines classes of the class path as well, so that these classes can use the stubs.
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
          Class.forName(name, false, this).getDeclaredConstructors(); // links the class without initializing it
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

/** Verdicts on one class: `accepted`, or the error from linking. */
export interface Pair {
  readonly before: string
  readonly after: string
}

/** Options for a JVM that runs for some seconds, mostly in the verifier. */
const LEAN = ['-Xmx2g', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
/** Compiled programs, one per JDK. */
const compiled = new Map<Jdk, Promise<string>>()

/**
 * Links `before` and `after`, which contain the same classes in the same order.
 *
 * @param classPath  jars that the classes need besides each other and the JDK
 * @param stubs      replacements for classes that do not exist
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
  // Each version of the classes needs its own JVM. In one JVM the loader constraints of the first version would apply to the second.
  const [one, other] = [await verdicts(before), await verdicts(after)]
  return one.map((verdict, i) => ({ before: verdict, after: other[i] }))
}
