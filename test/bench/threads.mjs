// Whether threads delay each other: calls inside the graph per second, of all threads together, with 1 to 64 threads and with 10,000
// virtual threads. There is no lock, and no cache line that two threads write, so with more threads than cores the total should stay
// constant. The client also uses these cores. Events per CPU second, of target and client together, do not depend on other load.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Child, compile, median, project, sleep, startSession, temporaryDirectory } from './support.mjs'

const COUNTS = [1, 2, 4, 8, 16, 64]
const SAMPLES = 5
const SAMPLE_MS = 400
const SETTLE_MS = 2500
/** Ticks per second in proc_pid_stat(5): 100 on every Linux. */
const CLOCK_TICKS = 100

/** 10,000 virtual threads take turns: each calls the root 20 times, then yields. */
const VIRTUAL = `
  public class Many {
    static final java.util.concurrent.atomic.LongAdder DONE = new java.util.concurrent.atomic.LongAdder();
    static int step(int x) { return x * 31 + 7; }
    static int work(int x) { for (int i = 0; i < 100; i++) x = step(x); return x; }
    public static void main(String[] args) throws Exception {
      for (int i = 0; i < 10_000; i++)
        Thread.ofVirtual().start(() -> {
          for (int x = 1;;) {
            for (int k = 0; k < 20; k++) x = work(x);
            DONE.add(20);
            Thread.yield();
          }
        });
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
        long before = DONE.sum(), begun = System.nanoTime();
        Thread.sleep(Long.parseLong(line.split(" ")[1]));
        System.out.println("rate " + (DONE.sum() - before) * 1e9 / (System.nanoTime() - begun));
      }
      System.exit(0);
    }
  }`

export async function threads(jdks) {
  for (const jdk of jdks) {
    console.log(
      `\n${jdk.name}: M events a second in all, of a root with 100 calls in it; median of ${SAMPLES}`,
    )
    console.log('  threads   bare, M calls   inside, M events   a CPU second   waiting')
    const classes = await compile(jdk, [join(project, 'test/fixtures/Ticker.java')])
    for (const count of COUNTS)
      await row(
        jdk,
        String(count),
        ['-cp', classes, 'fix.Ticker', String(count), 'tiny'],
        'fix.Ticker.work',
        count,
      )
    if (Number(jdk.name.split(' ')[1].split('.')[0]) < 21) continue
    const file = join(temporaryDirectory(), 'Many.java')
    writeFileSync(file, VIRTUAL)
    await row(jdk, '10,000 v.', ['-cp', await compile(jdk, [file]), 'Many'], 'Many.work', 2)
  }
}

/** @param running  number of threads that are runnable at the same time */
async function row(jdk, label, args, root, running) {
  const java = new Child(jdk.java, args)
  const rate = async () => Number((await java.ask(`rate ${SAMPLE_MS}`, /^rate/)).split(' ')[1])
  const rates = async () => {
    const all = []
    for (let i = 0; i < SAMPLES; i++) all.push(await rate())
    return median(all)
  }
  try {
    await java.line(/^ready/)
    await sleep(SETTLE_MS)
    const bare = await rates()
    const session = await startSession(java.pid, root)
    await sleep(SETTLE_MS)
    const waited = (await session.status()).waitMs
    const begun = performance.now()
    const cpu = cpuSeconds(java.pid)
    const inside = await rates()
    const cores = ((cpuSeconds(java.pid) - cpu) * 1000) / (performance.now() - begun)
    const wait = ((await session.status()).waitMs - waited) / (performance.now() - begun) / running
    await session.detach()
    await session.close()
    const events = (inside * 202) / 1e6
    const columns = [(bare * 101) / 1e6, events, events / cores].map((it) => it.toFixed(1).padStart(14))
    console.log(
      `  ${label.padEnd(9)} ${columns.join('  ')}   ${(wait * 100).toFixed(1).padStart(9)} % of each thread`,
    )
  } finally {
    await java.end()
  }
}

/** Returns the CPU time that the target and this process, in which the client runs, have used so far. */
function cpuSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const { user, system } = process.cpuUsage()
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS + (user + system) / 1e6
}
