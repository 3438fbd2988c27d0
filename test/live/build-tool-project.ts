// Projects for tests of `jfluid run` with build tools: a class with the root, and JUnit tests that call the root a known number of times.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual, stripVTControlCharacters } from 'node:util'
import { expect } from 'vitest'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { callsByMethod, cli, type Ran, readProfileJson } from '../support/jfluid.ts'

export const ROOT = 'shop.Till.pay'
/** Calls of `shop.Till.price` in each call of the root. */
const PRICES = 2

const TILL = `package shop;
public class Till {
  static int price(int item) { return item + 1; }
  public static int pay(int item) { return price(item) + price(item + 1); }
}
`

export interface TestClass {
  /** Maven runs classes with names that end in IT with Failsafe, and all others with Surefire. */
  readonly name: `${string}Test` | `${string}IT`
  /** Number of calls of the root. */
  readonly calls: number
  /** Name of another test class. Each waits until the other runs, so they run in two JVMs at the same time. */
  readonly meets?: string
  /** Whether the test fails, after its calls. */
  readonly fails?: true
}

/** @param place  directory in which tests that meet create files */
function testSource({ name, calls, meets, fails }: TestClass, place: string): string {
  const wait = `
    java.nio.file.Path place = java.nio.file.Path.of("${place}");
    java.nio.file.Files.createFile(place.resolve("${name}"));
    long end = System.nanoTime() + 120_000_000_000L;
    while (!java.nio.file.Files.exists(place.resolve("${meets}"))) {
      if (System.nanoTime() > end) throw new AssertionError("${meets} does not run at the same time");
      Thread.sleep(10);
    }`
  return `package shop;
public class ${name} {
  @org.junit.Test public void pays() throws Exception {${meets === undefined ? '' : wait}
    for (int i = 0; i < ${calls}; i++) Till.pay(i);
    ${fails ? 'org.junit.Assert.fail("this test fails");' : ''}
  }
}
`
}

/** Returns paths and texts of the files of a build. */
export type Files = ReadonlyMap<string, string>

/**
 * Returns the sources of modules.
 *
 * @param modules  directory and tests of each module
 */
export function sources(modules: Readonly<Record<string, readonly TestClass[]>>): Files {
  const place = temporaryDirectory('jfluid-meeting-')
  return new Map(
    Object.entries(modules).flatMap(([directory, tests]) => [
      [`${directory}/src/main/java/shop/Till.java`, TILL] as const,
      ...tests.map(
        (it) => [`${directory}/src/test/java/shop/${it.name}.java`, testSource(it, place)] as const,
      ),
    ]),
  )
}

/** Writes files into a new directory, and returns it. */
export function written(files: Files): string {
  const directory = temporaryDirectory('jfluid-build-')
  for (const [path, text] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return directory
}

export interface Built extends Ran {
  /** Main classes of the JVMs in which the root was called, each with the number of calls. */
  readonly calls: readonly (readonly [string, number])[]
}

export interface BuildOptions {
  readonly jdk: Jdk
  /** Returns a new project, and the command that builds it. */
  readonly build: () => { readonly directory: string; readonly command: readonly string[] }
  readonly options?: readonly string[]
  /** Whether calls below the root may be missing if the profile says so by gaps: where the JVM of the build tool runs the tests. */
  readonly mayHaveGaps?: true
}

/** Runs a build under `jfluid run`. */
export async function ran({ jdk, build, options = [] }: BuildOptions): Promise<Ran & { out: string }> {
  const { directory, command } = build()
  const out = join(directory, 'p.jfluid')
  const words = ['run', '--root', ROOT, '--record', out, ...options, '--', ...command]
  const p = startProcess(process.execPath, [cli, ...words], {
    cwd: directory,
    env: { JAVA_HOME: jdk.home },
  })
  const { code } = await p.exit
  return { code, stdout: p.stdout(), stderr: stripVTControlCharacters(p.stderr()), out }
}

/**
 * Runs a build under `jfluid run`, and checks that the profile has each call. If calls are missing, and the profile says so by a gap, since
 * the machine is busy, another build is run.
 *
 * @param calls  number of calls of the root
 */
export async function recorded(options: BuildOptions, calls: number): Promise<Built> {
  const exact = [
    [`${ROOT}(I)I`, calls],
    ['shop.Till.price(I)I', PRICES * calls],
  ]
  for (let tries = 1; ; tries++) {
    const { out, ...result } = await ran(options)
    const said = `exit code ${result.code}\n${result.stdout}\n${result.stderr}`
    const profile = await readProfileJson(out).catch(() => {
      throw new Error(`no profile was written: ${said}`)
    })
    const found = [...callsByMethod(profile)].sort()
    const isGap = profile.instrumentation.gaps > 0 && !isDeepStrictEqual(found, exact)
    if (isGap && !options.mayHaveGaps && tries < 3) continue
    if (isGap && options.mayHaveGaps) expect(found[0], said).toEqual(exact[0])
    else expect(found, said).toEqual(exact)
    const lines = [...result.stderr.matchAll(/^JVM \d+ \((.*)\): (\d+) root calls? recorded$/gm)]
    const byJvm = lines.map(([, name, count]) => [name!, Number(count)] as const)
    return { ...result, calls: byJvm.sort(([, a], [, b]) => a - b) }
  }
}
