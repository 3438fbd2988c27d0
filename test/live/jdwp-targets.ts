// JVMs that can be reached only by their debugger port, and simulated network connections to this port.

import { readdirSync, readFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { granted, JdwpTarget, type TypeId } from '../../src/jdwp-client/index.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { type Jdk, oldest } from '../support/jdks.ts'

/** Runs `fix.KnownTree`, whose main thread waits for input, and a second thread that calls a method every 10 ms. */
export const BEATING = `
  package fix;
  public class Beating {
    public static void main(String[] args) throws Exception {
      Thread beat = new Thread(() -> {
        while (true) java.util.concurrent.locks.LockSupport.parkNanos(10_000_000);
      }, "beat");
      beat.setDaemon(true);
      beat.start();
      KnownTree.main(args);
    }
  }`

/**
 * Runs the main class given as an argument. The JVM's Common-Cleaner thread, which jfluid can wake to use it, is occupied by other work.
 */
export const OCCUPIED = `
  package fix;
  import java.lang.ref.Cleaner;
  import java.util.Arrays;
  import java.util.concurrent.CountDownLatch;
  public class Occupied {
    public static void main(String[] args) throws Exception {
      CountDownLatch busy = new CountDownLatch(1);
      Cleaner common = (Cleaner) Class.forName("jdk.internal.ref.CleanerFactory").getMethod("cleaner").invoke(null);
      common.register(new Object(), () -> {
        busy.countDown();
        try {
          new CountDownLatch(1).await();
        } catch (InterruptedException e) {
          System.out.println("interrupted");
        }
      });
      while (busy.getCount() > 0) {
        System.gc();
        Thread.sleep(10);
      }
      String[] its = Arrays.copyOfRange(args, 1, args.length);
      Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) its);
    }
  }`

const KNOWN_TREE = readFileSync(new URL('../fixtures/KnownTree.java', import.meta.url), 'utf8')
export const SOURCES = {
  'fix/Beating.java': BEATING,
  'fix/KnownTree.java': KNOWN_TREE,
  'fix/Occupied.java': OCCUPIED,
}
export const classes = compileJava(oldest, SOURCES)

export const occupied = (path: string): string[] => [
  ...['--add-exports', 'java.base/jdk.internal.ref=ALL-UNNAMED', '-cp', path, 'fix.Occupied'],
]

export const ROOT = ['--root', 'fix.KnownTree.task']

export async function startBeating(
  jdk: Jdk,
  how = 'suspend=n',
  scale = '50',
  ...options: readonly string[]
): Promise<JavaProcess> {
  return startJdwp(jdk, how, [...options, '-cp', await classes, 'fix.Beating', '4', scale])
}

export function startJdwp(jdk: Jdk, how: string, args: readonly string[]): JavaProcess {
  const agent = `-agentlib:jdwp=transport=dt_socket,server=y,${how},address=127.0.0.1:0`
  return startJava(jdk, [agent, '-XX:+DisableAttachMechanism', ...args])
}

/** Returns the port for the nth debugger. With port 0, HotSpot uses a new port for each debugger. */
export async function portOf(java: JavaProcess, nth = 1): Promise<number> {
  return Number(/\d+$/.exec(await java.line(/^Listening for transport/, nth))![0])
}

export const debug = async (java: JavaProcess, nth: number): Promise<JdwpTarget> =>
  await JdwpTarget.connect(await portOf(java, nth))

/** Returns the sum of the suspend counts of all threads. */
export async function suspensions(jvm: JdwpTarget): Promise<number> {
  let sum = 0
  for (const thread of granted(await jvm.virtualMachine.allThreads(), 'threads')) {
    const count = await jvm.threadReference.suspendCount(thread)
    if (count.ok) sum += count.value
  }
  return sum
}

/** Returns the bytecodes of the root as seen by a debugger. */
export async function codeOfTask(jvm: JdwpTarget): Promise<string> {
  const [type] = granted(await jvm.virtualMachine.classesBySignature('Lfix/KnownTree;'), 'the class')
  const id: TypeId = type!.id
  const task = granted(await jvm.referenceType.methods(id), 'methods').find((it) => it.name === 'task')!
  return granted(await jvm.method.bytecodes(id, task.id), 'code').toString('hex')
}

/**
 * A forwarded port to the JVM's debugger port, as created by `ssh -L` or `kubectl port-forward`. The process behind it is not known to
 * jfluid.
 */
interface Way {
  readonly port: number
  /** Number of times that the client sent data after it had received data. Each costs one round trip of the network. */
  readonly turns: number
  /** Called at each change of `turns`. */
  onTurn: (turns: number) => void
  /** Drops all further data without closing the connections. */
  cut(): void
  close(): Promise<void>
}

/** @param before  number of debuggers that were connected before */
export async function forwarded(java: JavaProcess, before = 0): Promise<Way> {
  const ways: Socket[] = []
  let nth = before
  let turns = 0
  let isOurs = false
  const server = createServer(async (near) => {
    const far = connect(await portOf(java, ++nth), '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => {}) // the `close` event follows
      from.on('close', () => to.destroy())
      from.pipe(to)
      ways.push(from)
      from.on('data', () => {
        if (from === near && !isOurs) way.onTurn(++turns)
        isOurs = from === near
      })
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  const way: Way = {
    port,
    get turns() {
      return turns
    },
    onTurn: () => {},
    cut: () => {
      for (const it of ways) it.unpipe().resume()
    },
    close: () => new Promise((closed) => server.close(() => closed())),
  }
  return way
}

/** Returns the names of threads from /proc, since a JVM without the attach mechanism cannot report them. */
export function threadNames(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((it) => {
    try {
      return readFileSync(`/proc/${pid}/task/${it}/comm`, 'utf8').trim()
    } catch {
      return [] // the thread has just ended
    }
  })
}

export const agentThreads = (pid: number): string[] => threadNames(pid).filter((it) => it.includes('jfluid'))
