// Scheme adaptive shows a warning in a JVM whose garbage collector leaves compiled loops without safepoints.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'

const PROGRAM = {
  'fix/Loops.java': `package fix;
    public class Loops {
      static volatile int sink;
      static int counted(int from) {
        int x = from;
        for (int i = 0; i < 400_000; i++) x = (x ^ x >>> 15) * 0x2c1b3c6d;
        return x;
      }
      static void root() { sink = counted(sink); }
      public static void main(String[] args) {
        System.out.println("ready");
        while (true) root();
      }
    }`,
}

forNewestJdk((jdk) => {
  it.each([
    ['Serial', true],
    ['Parallel', true],
    ['G1', false],
  ])(
    'with the garbage collector %s, a warning about compiled loops without safepoints is shown: %s',
    async (collector, isBent) => {
      const classes = await compileJava(jdk, PROGRAM)
      const java = startJava(jdk, [`-XX:+Use${collector}GC`, '-cp', classes, 'fix.Loops'])
      await java.line(/^ready/)
      const file = join(temporaryDirectory('jfluid-collectors-'), 'p.jfluid')
      const flags = [
        '--root',
        'fix.Loops.root',
        '--scheme',
        'adaptive',
        '--duration',
        '1s',
        '--yes',
        '--out',
        file,
      ]
      const ran = await jfluid('record', `${java.pid}`, ...flags)
      expect(ran.code, ran.stderr).toBe(0)
      const { warnings } = await readProfileJson(file)
      expect(
        warnings.filter((it) => it.includes('this JVM has no safepoints in compiled loops')),
      ).toHaveLength(isBent ? 1 : 0)
    },
  )
})
