// jfluid compare with recordings of real programs: several recordings a side, and two time ranges of one recording.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inProcess } from '../support/in-process.ts'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, startRecording } from '../support/jfluid.ts'

/** Calls the root 40 times, with the duration in ms that is given as argument; without an argument, for 6 s per line of stdin. */
const PROGRAM = `
package fix;
public class Rests {
  static volatile long sink;
  static void root(int ms) throws Exception { rest(ms); compute(); }
  static void rest(int ms) throws Exception { Thread.sleep(ms); }
  static void compute() { long sum = sink; for (int i = 0; i < 100_000; i++) sum = sum * 31 + (sum ^ i); sink = sum; }
  public static void main(String[] args) throws Exception {
    if (args.length > 0) {
      for (int i = 0; i < 40; i++) root(Integer.parseInt(args[0]));
      return;
    }
    System.out.println("ready");
    var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; ) {
      long end = System.nanoTime() + 6_000_000_000L;
      while (System.nanoTime() < end) root(Integer.parseInt(line));
      System.out.println("done");
    }
  }
}`

interface Compared {
  readonly noiseKnown: boolean
  readonly lead: readonly { readonly name: string; readonly change: number }[]
  readonly methods: readonly {
    readonly method: string
    readonly selfChange: number
    readonly noise: number | null
  }[]
}

async function compared(...args: string[]): Promise<Compared> {
  const { code, stdout, stderr } = await inProcess('compare', ...args, '--json')
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as Compared
}

forNewestJdk((jdk) => {
  it('a method that became slower exceeds the noise between several recordings a side', async () => {
    const classes = await compileJava(jdk, { 'fix/Rests': PROGRAM })
    const directory = temporaryDirectory('jfluid-compare-')
    const recorded = async (side: string, ms: number) => {
      const files: string[] = []
      for (const number of [1, 2, 3]) {
        const file = join(directory, `${side}${number}.jfluid`)
        const program = [jdk.java, '-cp', classes, 'fix.Rests', `${ms}`]
        const ran = await jfluid(
          'run',
          '--root',
          'fix.Rests.root',
          '--scheme',
          'a',
          '--record',
          file,
          '--',
          ...program,
        )
        expect(ran.code, ran.stderr).toBe(0)
        files.push(file)
      }
      return files
    }
    const before = await recorded('a', 2)
    // Large enough to exceed the noise even if one recording of each side gets no processor for half a second.
    const after = await recorded('b', 40)
    const { noiseKnown, lead, methods } = await compared('--before', ...before, '--after', ...after)
    expect(noiseKnown).toBe(true)
    expect(lead.map(({ name }) => name)).toEqual(['rate', 'mean', 'p50', 'p95', 'p99'])
    expect(lead.find(({ name }) => name === 'p50')!.change).toBeGreaterThan(1)
    const rest = methods.find(({ method }) => method === 'rest')!
    expect(rest.selfChange).toBeGreaterThan(rest.noise!)
    const text = await inProcess('compare', '--before', ...before, '--after', ...after)
    expect(text.stdout).toMatch(/^ +\+\S+ [mµ]s .*±.* {2}fix\.Rests\.rest\n {2}called by fix\.Rests\.root$/m)
  }, 60_000)

  it('two time ranges of one recording are compared', async () => {
    const classes = await compileJava(jdk, { 'fix/Rests': PROGRAM })
    const java = startJava(jdk, ['-cp', classes, 'fix.Rests'])
    await java.line(/^ready/)
    const recording = startRecording(java.pid, '--root', 'fix.Rests.root', '--scheme', 'b')
    await recording.started
    java.send('2')
    await java.line(/^done/)
    java.send('20')
    await java.line(/^done/, 2)
    await recording.stop()
    const { lead, methods } = await compared(recording.file, '--before', '0s-5s', '--after', '10s-')
    expect(lead.find(({ name }) => name === 'mean')!.change).toBeGreaterThan(1)
    expect(methods[0]).toMatchObject({ method: 'rest' })
    expect(methods[0]!.selfChange).toBeGreaterThan(0)
    const refused = await inProcess('compare', recording.file, '--before', '0s-5s', '--after', '1h-')
    expect(refused.code).toBe(64)
    expect(refused.stderr).toContain('the range begins at 1h')
  })
})
