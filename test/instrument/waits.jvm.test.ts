// Probes at places where a thread may wait, in code from javac, run with HotSpot's verifier. Checks the reports of the probes, and that a
// monitor is released even if a probe throws.

import { beforeAll, describe, expect, it } from 'vitest'
import { spliceClass } from '../../src/classfile/splice.ts'
import { instrumentClass, type Recipe } from '../../src/instrument/class.ts'
import { compileJava } from '../support/java-process.ts'
import { jdks } from '../support/jdks.ts'
import { classesIn, compileRuntime, runJava, VALUE_EXITS, VERIFY_ALL, writeClass } from './jvm.ts'

/** Prints the reports, and throws on request, as probes do when the stack is full. */
const TELLING_RUNTIME = `
  package java.lang;
  public class JFluid1 {
    public static boolean throwing;
    private static String of(Object o) { return o == null ? "null" : o instanceof Class<?> c ? c.getName() : "a " + o.getClass().getName(); }
    public static void methodEntry(int id) {}
    public static void methodExit(int id) {}
    public static void methodResume(int id) {}
    public static void rootEntry(int id) {}
    public static void rootExit(int id) {}
    ${VALUE_EXITS}
    public static void reflectiveCall(Object method) {}
    private static Object wanted;
    public static void lockWanted(Object lock) { System.out.println("wanted " + of(lock)); wanted = lock; }
    public static void lockTaken() {
      System.out.println("taken " + Thread.holdsLock(wanted));
      if (throwing) throw new StackOverflowError();
    }
    private static int called;
    public static void calling(int target) { called = target; }
    public static void monitorHeld(Object lock, int target) {
      System.out.println("held " + of(lock) + " " + Thread.holdsLock(lock) + " " + (target == called));
    }
    public static void callWaits(Object on, int kind) { System.out.println("waits for " + of(on) + " " + kind); }
    public static void callWaited() { System.out.println("waited"); }
  }`

const WAITER = `
  public class Waiter {
    private int sum;
    private final Object lock = new Object();

    int block(long big, boolean fails) {
      synchronized (lock) {
        if (fails) throw new IllegalStateException("" + big);
        sum += (int) big;
        return sum;
      }
    }
    synchronized int own(int n) { return sum + n; }
    static synchronized long ofClass(long a, double b) { return a + (long) b; }
    int waits(int n) throws InterruptedException {
      synchronized (lock) {
        for (int i = 0; i < n; i++) lock.wait(1L + i);
      }
      Thread.sleep(1);
      return n;
    }
    boolean isFree() { return !Thread.holdsLock(lock); }
  }`

// In this class only the methods that call synchronized methods have probes.
const MAIN = `
  public class WaitMain {
    static int callsOwn(Waiter w) { return w.own(2); }
    static long callsOfClass() { return Waiter.ofClass(3, 4.5); }
    public static void main(String[] none) throws Exception {
      Waiter w = new Waiter();
      System.out.println("= " + w.block(7, false));
      try {
        w.block(8, true);
      } catch (IllegalStateException e) {
        System.out.println("= " + e.getMessage() + " " + w.isFree());
      }
      System.out.println("= " + callsOwn(w));
      System.out.println("= " + callsOfClass());
      System.out.println("= " + w.waits(2));
      Class.forName("java.lang.JFluid1").getField("throwing").setBoolean(null, true);
      try {
        w.block(9, false);
      } catch (StackOverflowError e) {
        System.out.println("= full " + w.isFree());
      }
    }
  }`

const RECIPE: Recipe = { tells: 'time', waits: { nativeWaits: true, jdk: false } }

describe.each(jdks)('probes for waits on JDK $version', (jdk) => {
  let told: string[]

  beforeAll(async () => {
    const [runtime, classes] = await Promise.all([
      compileRuntime(jdk, TELLING_RUNTIME),
      compileJava(jdk, { 'WaitMain.java': MAIN, 'Waiter.java': WAITER }),
    ])
    for (const { classFile } of classesIn(classes)) {
      const tasks = classFile.methods
        .filter(({ name }) => name !== 'main')
        .map(({ index }) => ({ methodIndex: index, id: index + 1, probe: 'method' as const }))
      const { poolEntries, poolBytes, bodies, skipped } = instrumentClass(classFile, tasks, RECIPE)
      expect(skipped).toEqual([])
      writeClass(classes, classFile.name, spliceClass(classFile, poolEntries, poolBytes, bodies))
    }
    const patch = ['--patch-module', `java.base=${runtime}`]
    const ran = await runJava(jdk, [...VERIFY_ALL, ...patch, '-cp', classes, 'WaitMain'])
    expect(ran.code, ran.stderr).toBe(0)
    told = ran.stdout.trim().split('\n')
  })

  const between = (from: string, to: string): string[] => told.slice(told.indexOf(from) + 1, told.indexOf(to))

  it('a monitor is reported before a thread enters the monitor, and again when the thread holds the monitor', () => {
    const block = ['wanted a java.lang.Object', 'taken true']
    expect(told.slice(0, 3)).toEqual([...block, '= 7'])
    expect(between('= 7', '= 8 true')).toEqual(block)
  })

  it('a synchronized method reports its monitor with the number of the called method that the caller has passed to the probe', () => {
    expect(between('= 8 true', '= 9')).toEqual(['held a Waiter true true'])
    expect(told.slice(told.indexOf('= 9') + 1, told.indexOf('= 9') + 3)).toEqual([
      'held Waiter true true',
      '= 7',
    ])
  })

  it('a call of a native method that waits is reported with the object that the thread waits for', () => {
    const wait = ['waits for a java.lang.Object 1', 'waited']
    const lock = ['wanted a java.lang.Object', 'taken true']
    expect(told.slice(told.indexOf('= 2') - 8, told.indexOf('= 2'))).toEqual([
      ...lock,
      ...wait,
      ...wait,
      'waits for null 3',
      'waited',
    ])
  })

  it('a monitor is released if the probe after the monitor entry throws, for example because the stack is full', () => {
    expect(told.at(-1)).toBe('= full true')
  })
})
