import { expect, it } from 'vitest'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { compiledMethods } from '../../src/attach/loaded-code.ts'
import { until } from '../live/remains.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'

const HOT = `
  package fix;
  public class Hot {
    static int sink;
    static int often(int x) { for (int i = 0; i < 100; i++) x = x * 31 + i; return x; }
    static int never(int x) { return x; }
    public static void main(String[] args) throws Exception {
      for (int i = 0; i < 200_000; i++) sink += often(i);
      System.out.println("ready");
      System.in.read();
    }
  }`

forEachJdk((jdk) => {
  it('the list of compiled methods of a JVM contains a compiled method, and does not contain a method that was never called', async () => {
    const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Hot': HOT }), 'fix.Hot'])
    await java.line(/^ready$/)
    const connection = await openAttachSocket(java.pid)
    let methods = await compiledMethods(connection)
    // A compiler thread may still be compiling it.
    await until(async () => {
      methods = await compiledMethods(connection)
      return methods.has('fix.Hot.often(I)I')
    })
    expect(methods).not.toContain('fix.Hot.never(I)I')
  })
})
