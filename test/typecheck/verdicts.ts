// Verdicts of HotSpot's verifier. One JVM that verifies all classes loads each class in a
// separate loader, which finds all other classes in a set of class files.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runJava, VERIFY_ALL } from '../instrument/jvm.ts'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

/** Loads classes from the second file, each with the classes of the first, and prints the results. */
const VERDICTS = `
  import java.io.*;
  import java.nio.file.*;
  import java.util.*;
  public class Verdicts {
    static final Map<String, byte[]> SURROUNDINGS = new HashMap<>();
    static class Loader extends ClassLoader {
      private final String name;
      private final byte[] bytes;
      Loader(String name, byte[] bytes) {
        this.name = name;
        this.bytes = bytes;
      }
      @Override protected Class<?> loadClass(String wanted, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(wanted)) {
          Class<?> known = findLoadedClass(wanted);
          if (known != null) return known;
          byte[] its = wanted.equals(name) ? bytes : SURROUNDINGS.get(wanted);
          return its == null ? super.loadClass(wanted, resolve) : defineClass(wanted, its, 0, its.length);
        }
      }
    }
    interface Each {
      void take(String name, byte[] bytes) throws Exception;
    }
    static void read(String file, Each each) throws Exception {
      try (var in = new DataInputStream(new BufferedInputStream(new FileInputStream(file), 1 << 16))) {
        while (in.read() == 1) {
          String name = in.readUTF();
          each.take(name, in.readNBytes(in.readInt()));
        }
      }
    }
    static String verdict(String name, byte[] bytes) {
      Class<?> loaded;
      try {
        loaded = Class.forName(name, false, new Loader(name, bytes));
      } catch (Throwable e) {
        return "unloaded " + e;
      }
      try {
        loaded.getDeclaredMethods(); // links, does not initialise
        return "accepted";
      } catch (VerifyError e) {
        return "rejected " + e.getMessage();
      } catch (ClassFormatError e) {
        return "malformed " + e.getMessage();
      } catch (Throwable e) {
        return "unlinked " + e;
      }
    }
    public static void main(String[] args) throws Exception {
      read(args[0], SURROUNDINGS::put);
      try (var out = new PrintStream(new FileOutputStream(args[2]), false, "UTF-8")) {
        read(args[1], (name, bytes) -> out.println(verdict(name, bytes).lines().limit(6).toList()));
      }
    }
  }`

export interface NamedClass {
  /** Internal name. */
  readonly name: string
  readonly bytes: Uint8Array
}

/** Compiled once for each JDK. */
const compiled = new Map<Jdk, Promise<string>>()

/**
 * One verdict per class: `[accepted]`, `[rejected …]` by the verifier, `[malformed …]` by the
 * linker, `[unloaded …]` by the parser, `[unlinked …]` for other reasons.
 */
export async function hotspotVerdicts(
  jdk: Jdk,
  surroundings: readonly NamedClass[],
  classes: readonly NamedClass[],
): Promise<string[]> {
  let tools = compiled.get(jdk)
  if (tools === undefined) {
    tools = compileJava(jdk, { Verdicts: VERDICTS })
    compiled.set(jdk, tools)
  }
  const dir = temporaryDirectory()
  const files = ['surroundings', 'classes', 'verdicts'].map((name) => join(dir, name))
  writeFileSync(files[0], pack(surroundings))
  writeFileSync(files[1], pack(classes))
  const { code, stdout, stderr } = await runJava(jdk, [
    ...VERIFY_ALL,
    '-cp',
    await tools,
    'Verdicts',
    ...files,
  ])
  if (code !== 0) throw new Error(stdout + stderr)
  return readFileSync(files[2], 'utf8').trimEnd().split('\n')
}

/** Writes for each class a 1, its name, its length and its bytes, in the format of `DataInputStream`. */
export function pack(classes: readonly NamedClass[]): Buffer {
  return Buffer.concat(
    classes.flatMap(({ name, bytes }) => {
      const text = Buffer.from(name.replaceAll('/', '.'))
      const head = Buffer.alloc(3)
      head[0] = 1
      head.writeUInt16BE(text.length, 1)
      const length = Buffer.alloc(4)
      length.writeInt32BE(bytes.length)
      return [head, text, length, bytes]
    }),
  )
}
