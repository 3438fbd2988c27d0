// A Java program that does nothing until its input ends, and prints a line when its main has started.

export const WAITER = {
  Waiter: `
    public class Waiter {
      public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (System.in.read() >= 0) System.out.println("alive");
      }
    }`,
}
