// A program whose threads call a root continuously and measure how long each of them was blocked.

import type { JavaProcess } from '../support/java-process.ts'
import { until } from './remains.ts'

/**
 * `gap` prints the longest time between two calls of the root by the same thread, since the last `gap`. `load` makes the root use 20
 * classes for the first time.
 */
export const PULSE = `
  package fix;
  public class Pulse {
    static volatile long longest;
    static int sink;
    static int work(int i) { int x = i; for (int k = 0; k < 50; k++) x = step(x); return x; }
    static int step(int x) { return x * 31 + 7; }
    static int load() { return ${Array.from({ length: 20 }, (_, i) => `New${i}.f()`).join(' + ')}; }
    ${Array.from({ length: 20 }, (_, i) => `static class New${i} { static int f() { return ${i}; } }`).join('\n')}
    static int root(int i) { return i < 0 ? load() : work(i); }
    static void die() { sink += step(1); System.exit(3); }
    public static void main(String[] args) throws Exception {
      for (int t = 0; t < Integer.parseInt(args[0]); t++) {
        Thread thread = new Thread(() -> {
          long last = System.nanoTime();
          for (int i = 0; ; i = i + 1 & 0xffff) {
            sink += root(i);
            long now = System.nanoTime();
            if (now - last > longest) synchronized (Pulse.class) { longest = Math.max(longest, now - last); }
            last = now;
          }
        });
        thread.setDaemon(true);
        thread.start();
      }
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        switch (line) {
          case "gap" -> { System.out.println("gap " + longest / 1e6); longest = 0; }
          case "load" -> {
            long t0 = System.nanoTime();
            sink += root(-1);
            System.out.println("loaded " + (System.nanoTime() - t0) / 1e6);
          }
          case "die" -> die();
        }
      }
    }
  }`

/** Sends a line and returns the number in the program's answer. */
export async function number(java: JavaProcess, line: string, answer: RegExp): Promise<number> {
  const at = java.stdout().length
  java.send(line)
  await until(() => answer.test(java.stdout().slice(at)))
  return Number(answer.exec(java.stdout().slice(at))![1])
}

export const gap = (java: JavaProcess): Promise<number> => number(java, 'gap', /gap ([\d.]+(?:E-?\d+)?)\n/)
