// A virtual thread that loads a class waits for the client in the load hook. Its stack cannot be inspected, so the agent must count such
// threads. Otherwise the buffer would be unmapped, and the JVM would crash.

import { expect, it } from 'vitest'
import { granted } from '../../src/jdwp-client/index.ts'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava } from '../support/java-process.ts'
import { forJdks } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { startDebuggable } from './live-code.ts'
import { mappedFiles } from './remains.ts'

const PROGRAM = {
  'fix/Job': 'package fix; public interface Job { int run(); }',
  'fix/First': 'package fix; class First implements Job { public int run() { return 1; } }',
  'fix/Second': 'package fix; public class Second implements Job { public int run() { return 2; } }',
  'fix/Loads': `
    package fix;
    import java.io.*;
    public class Loads {
      static int root(Job job) { return job.run(); }
      static void load() {
        try { System.out.println("loaded " + root((Job) Class.forName("fix.Second").getConstructor().newInstance())); }
        catch (ReflectiveOperationException e) { throw new AssertionError(e); }
      }
      public static void main(String[] args) throws Exception {
        System.out.println("ready");
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
          if (line.equals("load")) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) Loads::load);
          else System.out.println("sum " + root(new First()));
        }
      }
    }`,
}

/** Bytecode index in `heartbeat` after the check for a session and before the access to the buffer. */
const BEFORE_THE_BUFFER = 6

forJdks({ from: 21, reason: 'virtual threads need JDK 21' }, (jdk) => {
  it('the event buffer stays mapped while a virtual thread is blocked in the load hook at the end of the session', async () => {
    const classes = await compileJava(jdk, PROGRAM)
    const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Loads'])
    const recording = startRecording(java.pid, '--root', 'fix.Loads.root', '--scheme', 'a')
    await recording.started
    java.send('call')
    await java.line(/^sum/)
    const [client] = granted(
      await jvm.virtualMachine.classesBySignature('Ljava/lang/JFluid1Client;'),
      'its class',
    )
    const methods = granted(await jvm.referenceType.methods(client!.id), 'its methods')
    const location = {
      kind: 'CLASS' as const,
      type: client!.id,
      method: methods.find((it) => it.name === 'heartbeat')!.id,
      bci: BEFORE_THE_BUFFER,
    }
    const request = granted(
      await jvm.eventRequest.set('BREAKPOINT', 'EVENT_THREAD', [{ modifier: 'LocationOnly', location }]),
      'a breakpoint',
    )
    java.send('load')
    const hit = await jvm.events.next('BREAKPOINT', { request })
    granted(await jvm.eventRequest.clear('BREAKPOINT', request), 'to go on')
    const { detach, warnings } = await recording.stop()
    expect(detach?.left.join()).toMatch(/mapping .*\/ring/)
    expect(warnings.join()).toContain('after the detach, parts of jfluid remained in the JVM')
    granted(await jvm.resume(hit!.set), 'to go on')
    expect(await java.line(/^loaded/)).toBe('loaded 2')
    // The next session unmaps the buffer that this session could not unmap.
    const next = startRecording(java.pid, '--root', 'fix.Loads.root')
    await next.started
    expect((await next.stop(STATUS.rootNeverCalled)).detach?.left).toEqual([])
    expect(mappedFiles(java.pid).filter((it) => it.endsWith('/ring'))).toEqual([])
  })
})
