// A program with a unique name, so that only one test waits for it.

/** Returns a class name that no other test and no other run of this test uses. */
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
