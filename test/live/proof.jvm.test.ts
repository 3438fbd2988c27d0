// Verification of a detach: the report about a detached target is correct, and a failed restoration is found.

import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { commandOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { pidNamespace } from '../../src/session/doors/session-directory.ts'
import { compareCode, openCode, seesProbes } from '../../src/session/proof.ts'
import { named, remainsOf } from '../../src/session/remains.ts'
import { Session } from '../../src/session/session.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { ask, compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forOldestTarget, type Jdk } from '../support/jdks.ts'
import { calmWarnings, type Recording, startRecording } from '../support/jfluid.ts'
import { until } from './remains.ts'

/** Upper bound of pids on Linux (PID_MAX_LIMIT in include/linux/threads.h). No process has this pid. */
const MAX_PIDS = 4_194_304

/** Returns the line about the detach, without colours and progress. */
function line({ process }: Recording): string {
  return /detached from .*/.exec(process.stderr())?.[0] ?? ''
}

/**
 * A program with its own agent, which is loaded before jfluid and becomes active on command. After the command, this agent replaces the
 * class Kept in each transformation, including the one at jfluid's detach: by other code (the command is the path of a class file), or by
 * an invalid class (`broken`).
 */
const KEEPER = (plus: number) => ({
  'fix/Keeper': `
    package fix;
    import java.lang.instrument.*;
    import java.security.ProtectionDomain;
    public class Keeper implements ClassFileTransformer {
      static volatile byte[] instead;
      public static void premain(String options, Instrumentation jvm) { jvm.addTransformer(new Keeper(), true); }
      public byte[] transform(ClassLoader l, String name, Class<?> c, ProtectionDomain d, byte[] bytes) {
        return "fix/Kept".equals(name) && c != null ? instead : null;
      }
      static volatile int sum;
      public static void main(String[] args) throws Exception {
        Thread busy = new Thread(() -> { while (true) { sum += root(sum); sleep(); } });
        busy.setDaemon(true);
        busy.start();
        System.out.println("ready");
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
          if (line.equals("broken")) instead = new byte[] {0};
          else instead = java.nio.file.Files.readAllBytes(java.nio.file.Path.of(line));
          System.out.println("done");
        }
      }
      static int root(int x) { return Kept.step(x) + Plain.step(x); }
      static void sleep() { try { Thread.sleep(1); } catch (InterruptedException e) { throw new AssertionError(e); } }
    }`,
  'fix/Kept': `package fix; class Kept { static int step(int x) { return x + ${plus}; } static int other(int x) { return -x; } }`,
  'fix/Plain': 'package fix; class Plain { static int step(int x) { return x - 1; } }',
})

async function startKeeper(jdk: Jdk): Promise<JavaProcess> {
  const classes = await compileJava(jdk, KEEPER(1))
  const dir = temporaryDirectory('jfluid-keeper-')
  const [jar, manifest] = [join(dir, 'keeper.jar'), join(dir, 'manifest')]
  writeFileSync(manifest, 'Premain-Class: fix.Keeper\nCan-Retransform-Classes: true\n')
  execFileSync(join(jdk.tools, 'jar'), ['cfm', jar, manifest, '-C', classes, '.'])
  const java = startJava(jdk, [`-javaagent:${jar}`, '-cp', jar, 'fix.Keeper'])
  await java.line(/^ready/)
  return java
}

async function tell(java: JavaProcess, what: string): Promise<void> {
  java.send(what)
  await java.line(/^done/)
}

forOldestTarget((jdk) => {
  let witness: string
  beforeAll(async () => {
    witness = await compileFixture(jdk, 'Witness')
  })

  it('a target with its original code is reported as restored, and remains that cannot be removed are counted', async () => {
    const java = startJava(jdk, ['-cp', witness, 'fix.Witness', '1'])
    await java.line(/^ready/)
    const recording = startRecording(java.pid, '--root', 'fix.Witness.root')
    await recording.started
    const calls = async (): Promise<number> =>
      Number(/calls (\d+)/.exec(await ask(java, 'state', /^state/))![1])
    await calls() // resets the count of calls
    await until(async () => (await calls()) > 0)
    const { detach, instrumentation, warnings } = await recording.stop()
    const n = instrumentation.redefinedClasses
    expect(n).toBeGreaterThan(2)
    expect(line(recording)).toMatch(
      new RegExp(
        `^detached from ${java.pid} in \\d+ ms; restored: ${n} classes verified as original, nothing of jfluid remains$`,
      ),
    )
    expect(detach).toMatchObject({ restoredClasses: n, refusedClasses: 0, left: [], unseen: [] })
    expect(detach!.code).toMatchObject({
      checkedClasses: n,
      originalClasses: n,
      different: [],
      unchecked: '',
    })
    expect(detach!.code.checkedMethods).toBeGreaterThanOrEqual(instrumentation.instrumentedMethods)
    expect(detach!.proofMs).toBeGreaterThan(detach!.ms)
    // These lambda classes belong to the program's only lambda expression, in Witness.root.
    expect(detach!.lambdaClasses).toBeGreaterThan(0)
    expect(calmWarnings(warnings)).toEqual([])
  })

  it('the verification of a detach compares the code in the JVM and finds differences while probes are installed', async () => {
    const java = startJava(jdk, ['-cp', witness, 'fix.Witness', '1'])
    await java.line(/^ready/)
    const options = await commandOptions({ root: ['fix.Witness.root'], scheme: 'a' })
    const session = await Session.start(await attachDoor(java.pid), options)
    const { agent, instrumenter } = session.engine
    const opened = openCode(agent)
    const during = await compareCode(opened, instrumenter.classesBefore())
    expect(during.different).toEqual(
      expect.arrayContaining(['fix.Witness.root(I)I', 'fix.Witness.mix(II)I', 'fix.Witness$1.of(I)I']),
    )
    // Sessions with scheme a or b insert probes into these methods. Otherwise calls by method handles would be missing.
    const handle = 'java.lang.invoke.DirectMethodHandle'
    const gives = '(Ljava/lang/Object;)Ljava/lang/Object;'
    expect(during.different).toEqual(
      expect.arrayContaining(
        ['internalMemberName', 'internalMemberNameEnsureInit', 'constructorMethod'].map(
          (name) => `${handle}.${name}${gives}`,
        ),
      ),
    )
    expect(during.different).not.toContain('fix.Witness.main([Ljava/lang/String;)V') // no code of main has changed
    expect(during.originalClasses).toBe(0)
    const before = instrumenter.classesBefore()
    expect(await seesProbes(opened, before)).toBe(true)
    // A check of a method without probes finds no probes. Without this assertion, a check that always succeeds would go unnoticed.
    const main = new Set(['main([Ljava/lang/String;)V'])
    const without = before.filter(({ name }) => name === 'fix/Witness').map((it) => ({ ...it, probed: main }))
    expect(await seesProbes(opened, without)).toBe(false)
    expect(await seesProbes(opened, [])).toBe(null)
    const there = named(remainsOf(java.pid)!.traces)
    expect(there).toContain('thread jfluid-agent')
    expect(there.filter((it) => it.startsWith('mapping'))).toHaveLength(1)
    await session.detach()
    expect(session.detachFacts?.code.different).toEqual([])
    await session.close()
  })

  describe('a restoration that fails is found', () => {
    it('a failed restoration is detected if another agent has replaced the code', async () => {
      const java = await startKeeper(jdk)
      const recording = startRecording(java.pid, '--root', 'fix.Keeper.root', '--scheme', 'a')
      await recording.started
      // The larger constant needs another instruction (bipush instead of iconst_1), so only this method differs.
      await tell(java, join(await compileJava(jdk, KEEPER(100)), 'fix', 'Kept.class'))
      const { detach, warnings } = await recording.stop(STATUS.notRestored)
      // The four classes are Keeper, Kept, Plain, and the JDK's class of method handles.
      expect(line(recording)).toContain(
        'restored: 1 of 4 classes NOT restored, nothing else of jfluid remains',
      )
      expect(detach?.code).toMatchObject({ checkedClasses: 4, originalClasses: 3 })
      expect(detach?.code.different).toEqual(['fix.Kept.step(I)I'])
      expect(warnings).toContain(
        'after the detach, 1 of 4 classes did not have their original code: fix.Kept.step(I)I',
      )
    })

    it('a failed restoration is detected if the JVM refuses the original code of a class, so that the probes stay', async () => {
      const java = await startKeeper(jdk)
      const recording = startRecording(java.pid, '--root', 'fix.Keeper.root', '--scheme', 'a')
      await recording.started
      await tell(java, 'broken')
      const { detach } = await recording.stop(STATUS.notRestored)
      expect(line(recording)).toContain(
        'restored: 1 of 4 classes NOT restored, nothing else of jfluid remains; 1 class kept its probes',
      )
      expect(detach).toMatchObject({ restoredClasses: 3, refusedClasses: 1 })
      expect(detach?.code.different).toEqual(['fix.Kept.step(I)I'])
    })
  })

  it('each kind of remains of a session is reported', async () => {
    const dir = `/dev/shm/jfluid-1-${process.pid}-abcdef` // belongs to another pid namespace, so no process deletes it
    mkdirSync(dir)
    onTestFinished(() => rmSync(dir, { recursive: true }))
    writeFileSync(join(dir, 'ring'), 'x'.repeat(4096))
    const classes = await compileJava(jdk, {
      'fix/Remains': `
        package fix;
        public class Remains {
          public static void main(String[] args) throws Exception {
            var file = java.nio.channels.FileChannel.open(java.nio.file.Path.of(args[0]));
            var mapped = file.map(java.nio.channels.FileChannel.MapMode.READ_ONLY, 0, 4096);
            Thread thread = new Thread(() -> { try { Thread.sleep(600_000); } catch (InterruptedException e) { } }, "jfluid-left");
            thread.setDaemon(true);
            thread.start();
            System.out.println("ready");
            System.in.read();
            System.out.println(mapped.get(0) + file.position());
          }
        }`,
    })
    const java = startJava(jdk, ['-cp', classes, 'fix.Remains', join(dir, 'ring')])
    await java.line(/^ready/)
    const launch = `/tmp/.jfluid_pid${java.pid}`
    // The directory exists, so no client of another test deletes the file. No process has this pid, so the file is not in use.
    const session = join(temporaryDirectory(), `jfluid-${pidNamespace()}-${MAX_PIDS}-abcdef`)
    mkdirSync(session)
    writeFileSync(launch, `build=0;dir=${session};`)
    onTestFinished(() => rmSync(launch, { force: true }))
    // The kernel shows the path of a mapped file from this root directory.
    const ring = `${jdk.root ?? ''}${dir}/ring`
    const told = ['thread jfluid-left', `mapping ${ring}`, `descriptor of ${ring}`, `file ${launch}`]
    // The thread gets its name shortly after its start.
    await until(() => remainsOf(java.pid)?.threads.length === 1)
    expect(named(remainsOf(java.pid)!.traces)).toEqual(told)
  })
})
