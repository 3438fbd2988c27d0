import { describe, expect, it } from 'vitest'
import { compiledMethods, parseCodeList } from '../../src/attach/compiled-methods.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'

describe('a list of compiled methods', () => {
  it('names each with its class and descriptor', () => {
    const text = [
      '42 4 0 java.util.ArrayList.add(Ljava/lang/Object;)Z [0x00007f, 0x00007f - 0x00007f]',
      '  7 1 -1 a.B$C.<init>()V [0x00007f, 0x00007f - 0x00007f]',
      'Dumping stops here.',
      '',
    ].join('\n')
    expect([...parseCodeList(text)]).toEqual([
      'java.util.ArrayList.add(Ljava/lang/Object;)Z',
      'a.B$C.<init>()V',
    ])
  })

  it('is empty if the JVM says something else', () => {
    expect(parseCodeList('java.lang.IllegalArgumentException: Unknown diagnostic command').size).toBe(0)
  })
})

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
  it('a JVM tells what it has compiled, and only that', async () => {
    const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Hot': HOT }), 'fix.Hot'])
    await java.line(/^ready$/)
    const methods = await compiledMethods(await openAttachSocket(java.pid))
    expect(methods).toContain('fix.Hot.often(I)I')
    expect(methods).not.toContain('fix.Hot.never(I)I')
  })
})
