import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, it, onTestFinished } from 'vitest'
import {
  agentProperties,
  attachCommand,
  encodeRequest,
  encodeUnstreamed,
  loadAgent,
} from '../../src/attach/command.ts'
import { type AttachConnection, openAttachSocket } from '../../src/attach/handshake.ts'
import type { JfluidError } from '../../src/base/errors.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { compileJava, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { stderrLine } from '../support/jfluid.ts'
import { WAITER } from './waiter.ts'

const AGENT = {
  ...WAITER,
  Agent: `
    import java.util.*;
    public class Agent {
      public static void agentmain(String options, java.lang.instrument.Instrumentation inst) throws Exception {
        System.out.println("agentmain " + options);
        if (options.equals("throw")) throw new IllegalStateException("as asked");
        inst.redefineModule(Object.class.getModule(), Set.of(),
            Map.of("jdk.internal.vm", Set.of(Agent.class.getModule())), Map.of(), Set.of(), Map.of());
        Class.forName("Teller").getDeclaredMethod("tell").invoke(null);
      }
    }`,
  Teller: `
    public class Teller {
      public static void tell() {
        jdk.internal.vm.VMSupport.getAgentProperties().put("jfluid.test", "here: \\u00fc = 1");
      }
    }`,
}

forEachJdk((jdk) => {
  let classes: string
  let jar: string
  let dir: string
  beforeAll(async () => {
    classes = await compileJava(jdk, AGENT, {
      release: null,
      options: ['--add-exports', 'java.base/jdk.internal.vm=ALL-UNNAMED'],
    })
    dir = temporaryDirectory()
    jar = join(dir, 'agent.jar')
    const manifest = join(dir, 'manifest')
    writeFileSync(manifest, 'Agent-Class: Agent\n')
    await promisify(execFile)(join(jdk.tools, 'jar'), ['cfm', jar, manifest, '-C', classes, '.'])
  })

  async function attach(flags: string[] = []) {
    const java = startJava(jdk, [...flags, '-cp', classes, 'Waiter'])
    await java.line(/ready/)
    return { java, connection: await openAttachSocket(java.pid) }
  }

  async function loadFailure(connection: AttachConnection, path: string, options?: string): Promise<string> {
    const problem = await loadAgent(connection, path, options).then(
      () => new Error('loaded'),
      (reason: JfluidError) => reason,
    )
    return 'exitCode' in problem ? `${problem.name} ${problem.exitCode}` : problem.message
  }

  it('an agent is loaded with its options, and can set agent properties of the JVM', async () => {
    const { java, connection } = await attach()
    await loadAgent(connection, jar, 'a=b c ü')
    assert.equal(await java.line(/agentmain/), 'agentmain a=b c ü')
    const properties = await agentProperties(connection)
    assert.equal(properties.get('jfluid.test'), 'here: ü = 1')
    assert.equal(properties.get('sun.java.command'), 'Waiter')
  })

  it('an agent path is refused if the file is missing or is not a jar', async () => {
    const { connection } = await attach()
    const text = join(dir, 'text.jar')
    writeFileSync(text, 'no jar')
    assert.equal(await loadFailure(connection, join(dir, 'missing.jar')), 'AgentJarRefused 69')
    assert.equal(await loadFailure(connection, text), 'AgentJarRefused 69')
  })

  it('an exception in agentmain is reported', async () => {
    const { java, connection } = await attach()
    assert.equal(await loadFailure(connection, jar, 'throw'), 'AgentStartFailed 70')
    await stderrLine(java, /as asked/)
  })

  it('an agent path that the attach protocol cannot transfer is refused before any request is sent', async () => {
    const { connection } = await attach()
    assert.equal(await loadFailure(connection, `/${'x'.repeat(1024)}.jar`), 'ArgumentRefused 64')
    assert.equal(await loadFailure(connection, '/a=b.jar'), 'ArgumentRefused 64')
  })

  it('a JVM that forbids dynamic agent loading is reported', async () => {
    const { java, connection } = await attach(['-XX:-EnableDynamicAgentLoading'])
    assert.equal(await loadFailure(connection, jar), 'DynamicLoadingDisabled 78')
    assert.doesNotMatch(java.stdout(), /agentmain/)
  })

  it('an agent can be loaded into a JVM that started a few milliseconds ago', async () => {
    const silent = ['-XX:-UsePerfData', '-XX:+IgnoreUnrecognizedVMOptions', '-XX:-UseNotificationThread']
    for (const flags of [[], ['-XX:-UsePerfData'], silent, ['-Xrs']]) {
      const java = startJava(jdk, [...flags, '-cp', classes, 'Waiter'])
      await loadAgent(await openAttachSocket(java.pid), jar, flags.join())
      await java.line(/agentmain/)
    }
  })

  it('if a runtime image lacks the module java.instrument, the error names the missing module, not a bad agent', async () => {
    const image = join(temporaryDirectory(), 'image')
    const jlink = join(jdk.home, 'bin', 'jlink')
    await promisify(execFile)(jlink, ['--add-modules', 'java.base', '--output', image])
    const java = startProcess(join(image, 'bin', 'java'), ['-cp', classes, 'Waiter'])
    await java.line(/ready/)
    const connection = await openAttachSocket(java.pid)
    assert.equal(await loadFailure(connection, jar), 'InstrumentModuleMissing 69')
  })

  it('a JVM that has ended is reported as a missing process, not as a failed attach', async () => {
    const { java, connection } = await attach()
    await java.kill()
    assert.equal(await loadFailure(connection, jar), 'NoSuchProcess 68')
  })

  it('40 attach clients at the same time are all served, although the attach listener queues fewer connections', async () => {
    const { connection } = await attach()
    const all = await Promise.all(Array.from({ length: 40 }, () => agentProperties(connection)))
    assert.equal(all.filter((it) => it.get('sun.java.command') === 'Waiter').length, 40)
  })

  it('the threads of a JVM keep running while a client does not read a requested thread dump', async () => {
    const deep = startJava(jdk, ['-cp', await compileFixture(jdk, 'Deep'), 'fix.Deep', '200', '100'])
    await deep.line(/^ready/)
    const { socketPath } = await openAttachSocket(deep.pid)
    const encode = jdk.version < 25 ? encodeRequest : encodeUnstreamed
    const socket = connect(socketPath, () => socket.write(encode('threaddump', ['-e'])))
    onTestFinished(() => void socket.destroy())
    await once(socket, 'readable') // the reply has begun, and is longer than the buffers between the processes
    deep.send('')
    await deep.line(/^alive/)
  })

  it('an attach operation that HotSpot does not know fails with the message of HotSpot', async () => {
    const { connection } = await attach()
    const { code, text } = await attachCommand(connection.socketPath, 'nonsense')
    assert.notEqual(code, 0)
    assert.match(text, /^Operation nonsense not recognized/)
  })
})
