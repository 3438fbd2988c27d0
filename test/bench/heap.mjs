// Heap of the target that a session uses: all live objects in the JVM's own histogram during a session, minus those before the session, and
// the value that the agent reports. A whole session runs first, since the first session makes the JVM load classes permanently.
//
// Every thread has been in the root and stays alive. The program's own memory does not change during this time.

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Child, compile, median, sleep, startSession, temporaryDirectory, verdict } from './support.mjs'

const CASES = [
  [100, 10],
  [1000, 10],
  [10_000, 10],
  [100, 100],
  [100, 1000],
]
const METHODS_A_CLASS = 100
/** Returns the maximum heap of a session. */
const goalBytes = (threads) => 2 ** 20 + 200 * threads
const ROUNDS = 3
/** Time in which the session's status is read at least twice. */
const WARM_UP_DURATION_MS = 1500
const kib = (bytes) => (bytes / 1024).toFixed(0).padStart(8)

export async function heap(jdks) {
  for (const jdk of jdks) {
    console.log(`\n${jdk.name}: KiB, median of ${ROUNDS} sessions (least and most)`)
    console.log('  methods  threads     heap taken                by its own count   outside   left after')
    for (const [methods, threads] of CASES) await row(jdk, methods, threads)
  }
}

async function row(jdk, methods, threads) {
  const java = new Child(jdk.java, [
    '-Xmx256m',
    '-Xss256k',
    '-cp',
    await program(jdk, methods),
    'Many',
    threads,
  ])
  try {
    await java.line(/^ready/)
    await once(jdk, java)
    const taken = []
    const left = []
    let kept
    for (let round = 0; round < ROUNDS; round++) {
      const before = await live(jdk, java.pid)
      const { during, profile } = await once(jdk, java)
      if (profile.instrumentation.instrumentedMethods < methods)
        throw new Error('not all methods have probes')
      kept = profile.kept
      taken.push(during - before)
      left.push((await live(jdk, java.pid)) - before)
    }
    const range = `(${kib(Math.min(...taken)).trim()} .. ${kib(Math.max(...taken)).trim()})`
    console.log(
      `  ${String(methods).padStart(7)}  ${String(threads).padStart(7)}   ${kib(median(taken))} ${range.padEnd(20)} ${kib(kept.heapBytes)}  ${kib(kept.outsideBytes)}   ${kib(median(left))}   ${verdict(median(taken) <= goalBytes(threads), `<= ${kib(goalBytes(threads)).trim()}`)}`,
    )
  } finally {
    await java.end()
  }
}

/** Runs a session in which every thread calls the root. */
async function once(jdk, java) {
  const session = await startSession(java.pid, 'Many.root')
  void session.ended.then((reason) => console.log(`  THE SESSION ENDED: ${reason}`))
  await java.ask('call', /^called/)
  await sleep(WARM_UP_DURATION_MS)
  const during = await live(jdk, java.pid)
  await session.detach()
  const profile = await session.profile()
  await session.close()
  return { during, profile }
}

/** Returns the bytes of live objects. Collects twice, since the first collection may keep objects that wait for a finalizer. */
async function live(jdk, pid) {
  const histogram = async () =>
    (
      await promisify(execFile)(join(jdk.home, 'bin/jcmd'), [pid, 'GC.class_histogram'], {
        maxBuffer: 64 << 20,
      })
    ).stdout
  await histogram()
  return Number(/^Total\s+\d+\s+(\d+)/m.exec(await histogram())[1])
}

function program(jdk, methods) {
  const dir = temporaryDirectory()
  const classes = methods / METHODS_A_CLASS
  const files = [join(dir, 'Many.java')]
  const calls = []
  for (let c = 0; c < classes; c++) {
    calls.push(`x = Part${c}.all(x);`)
    const body = Array.from({ length: METHODS_A_CLASS - 1 }, (_, m) => m)
    files.push(join(dir, `Part${c}.java`))
    writeFileSync(
      files.at(-1),
      `final class Part${c} {
         static int all(int x) { ${body.map((m) => `x = m${m}(x);`).join(' ')} return x; }
         ${body.map((m) => `static int m${m}(int x) { return x * 31 + ${m}; }`).join('\n')}
       }`,
    )
  }
  writeFileSync(
    files[0],
    `public final class Many {
       static int root(int x) { ${calls.join(' ')} return x; }
       public static void main(String[] args) throws Exception {
         int threads = Integer.parseInt(args[0]);
         var begin = new java.util.concurrent.CyclicBarrier(threads + 1);
         var end = new java.util.concurrent.CyclicBarrier(threads + 1);
         for (int i = 0; i < threads; i++) {
           Thread t = new Thread(() -> {
             try {
               while (true) {
                 begin.await();
                 root(1);
                 end.await();
               }
             } catch (Exception over) {
               throw new IllegalStateException(over);
             }
           });
           t.setDaemon(true);
           t.start();
         }
         System.out.println("ready");
         var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
         while (in.readLine() != null) {
           begin.await();
           end.await();
           System.out.println("called");
         }
       }
     }`,
  )
  return compile(jdk, files)
}
