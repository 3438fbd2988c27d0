// A Java program that does nothing until it is told to end, and says so when its main has run.

export const WAITER = {
  Waiter: `
    public class Waiter {
      public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (System.in.read() >= 0) System.out.println("alive");
      }
    }`,
}
