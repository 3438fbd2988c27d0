// A program of a name that no other has, so that only this test waits for it.

/** No other test, and no other run of this one, has a JVM of that name. */
export const nameOf = (what: string): string => `Awaited${what}${process.pid}`

export const sourceOf = (name: string): string => `
package fix;
public class ${name} {
  static int step(int x) { return x + 1; }
  static int work(int x) { return step(step(x)); }
  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    for (;;) { work(1); Thread.sleep(1); }
  }
}`
