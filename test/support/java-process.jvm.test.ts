import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { beforeAll, describe, it } from 'vitest'
import { compileJava, type JavaProcess, startJava } from './java-process.ts'
import { forEachJdk, jdks, newest, oldest } from './jdks.ts'

const ECHO = `
  public class Echo {
    public static void main(String[] args) throws Exception {
      System.out.println("ready " + String.join(",", args));
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        if (line.equals("bye")) { System.err.println("leaving"); System.exit(7); }
        System.out.println("echo " + line);
      }
    }
  }`

describe('the JDKs of the tests', () => {
  it('the JDKs are sorted by feature version, oldest first, and no version occurs twice', () => {
    const versions = jdks.map((jdk) => jdk.version)
    assert.deepEqual(
      versions,
      [...new Set(versions)].sort((a, b) => a - b),
    )
    assert.ok(oldest.version >= 17 && newest.version >= oldest.version)
  })
})

forEachJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { Echo: ECHO })
  })

  it('tests can wait for a line, write to stdin and read the exit code', async () => {
    const java = startJava(jdk, ['-cp', classes, 'Echo', 'a', 'b'])
    assert.equal(await java.line(/^ready/), 'ready a,b')
    java.send('hello')
    assert.equal(await java.line(/hello/), 'echo hello')
    java.send('hello again')
    assert.equal(await java.line(/hello/, 2), 'echo hello again')
    java.send('bye')
    assert.deepEqual(await java.exit, { code: 7, signal: null })
    assert.match(java.stderr(), /leaving/)
    await assert.rejects(java.line(/never/), /ended \(code 7\) before a line matched \/never\//)
  })
})

describe('JVMs at the end of a test', () => {
  let left: JavaProcess
  let shared: JavaProcess
  beforeAll(async () => {
    const classes = await compileJava(oldest, { Echo: ECHO })
    shared = startJava(oldest, ['-cp', classes, 'Echo', 'shared'])
    await shared.line(/shared/)
  })
  it('a test may end while a JVM that it started is running', async () => {
    const classes = await compileJava(oldest, { Echo: ECHO })
    left = startJava(oldest, ['-cp', classes, 'Echo'])
    await left.line(/^ready/)
  })
  it('a JVM that the previous test did not end has been ended', async () => {
    assert.equal((await left.exit).signal, 'SIGKILL')
    assert.equal(existsSync(`/proc/${left.pid}`), false)
  })
  it('a JVM that was started in a hook keeps running', async () => {
    shared.send('still here')
    await shared.line(/echo still here/)
  })
})

it("compiling an invalid source throws an error with the compiler's message", async () => {
  await assert.rejects(compileJava(oldest, { Bad: 'class Bad { int x = ""; }' }), /incompatible types/)
})
