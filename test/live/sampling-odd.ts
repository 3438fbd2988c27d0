// A program with a constructor whose super() throws, and with nested roots.

import { join } from 'node:path'
import { expect } from 'vitest'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, jfluid, readProfileJson } from '../support/jfluid.ts'

const ODD = `
  package fix;
  public class Odd {
    static int sink;
    static class Base { Base(int x) { if (x % 3 != 0) throw new IllegalStateException(); sink += x; } }
    static class Sub extends Base { Sub(int x) { super(x); sink++; } }
    static Object make(int x) { try { return new Sub(x); } catch (IllegalStateException e) { return null; } }
    static void spin(long nanos) { for (long end = System.nanoTime() + nanos; System.nanoTime() < end; ) sink++; }
    static void root() {
      for (int i = 0; i < 2000; i++) if (make(i) == null) sink--;
      spin(20_000L);
      inner(1);
    }
    static void inner(int level) {
      spin(20_000L);
      if (level > 0) inner(level - 1);
    }
    public static void main(String[] args) { root(); root(); }
  }`

/** Returns all paths from the root, as "a/b/c". */
export function pathsOf(profile: JsonProfile): Set<string> {
  const paths = new Set<string>()
  const visit = (node: JsonNode, above: string): void => {
    const path = `${above}/${node.class}.${node.method}${node.descriptor}`
    paths.add(path)
    for (const child of node.children) visit(child, path)
  }
  for (const node of profile.merged) visit(node, '')
  return paths
}

/** Runs ODD under `jfluid run`. */
export async function runOdd(jdk: Jdk, ...flags: string[]): Promise<JsonProfile> {
  const odd = await compileJava(jdk, { 'fix/Odd': ODD })
  const file = join(temporaryDirectory('jfluid-sampling-'), 'p.jfluid')
  const roots = ['--root', 'fix.Odd.root', '--root', 'fix.Odd.inner', '--record', file]
  const ran = await jfluid('run', ...roots, ...flags, '--', jdk.java, '-cp', odd, 'fix.Odd')
  expect(ran.code, ran.stderr).toBe(0)
  return readProfileJson(file)
}
