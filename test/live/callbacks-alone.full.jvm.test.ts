// Each root makes only one call into the JDK, so the callbacks can be found only because of this call. The program counts its callbacks
// itself, which gives the expected values.

import { beforeAll, describe, expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { parseRoot } from '../../src/reveal/patterns.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { until } from './remains.ts'

const HOST = `
  package fix;
  import java.util.*;
  import java.util.function.Function;
  public class Alone {
    static int calls;
    static void tick() { calls++; }

    static class Oops extends RuntimeException {
      @Override public String getMessage() { tick(); return "oops"; }
    }
    static class Local extends RuntimeException {
      @Override public String getLocalizedMessage() { tick(); return "oops"; }
    }
    static class Named { String name() { tick(); return "n"; } }
    static class Key implements Function<Object, String> {
      public String apply(Object it) { tick(); return "k"; }
    }
    interface Thing { }
    static class Handler implements java.lang.reflect.InvocationHandler {
      public Object invoke(Object proxy, java.lang.reflect.Method method, Object[] args) {
        tick();
        return method.getName().equals("hashCode") ? (Object) 7 : method.getName().equals("equals") ? (Object) false : "proxy";
      }
    }
    static class Streams extends java.net.URLStreamHandler {
      @Override protected java.net.URLConnection openConnection(java.net.URL url) { return null; }
      @Override protected String toExternalForm(java.net.URL url) { tick(); return "url"; }
      @Override protected boolean equals(java.net.URL one, java.net.URL other) { tick(); return false; }
    }
    static class Path extends java.io.File {
      Path() { super("x"); }
      @Override public String getPath() { tick(); return "path"; }
    }
    static class Day extends Date {
      @Override public long getTime() { tick(); return 1; }
    }
    static class Own { @Override public String toString() { tick(); return "own"; } @Override public int hashCode() { tick(); return 3; } }

    static final TreeMap<Named, String> BY_NAME = new TreeMap<>(Comparator.comparing(Named::name));
    static final TreeMap<Object, String> BY_KEY = new TreeMap<>(Comparator.comparing(new Key()));
    static final Map<Object, String> HASHED = new HashMap<>();
    static final StringBuilder TEXT = new StringBuilder();
    static final Object OOPS = new Oops(), LOCAL = new Local(), PATH = new Path(), OWN = new Own();
    static final Date DAY = new Day(), EPOCH = new Date(0);
    static final Object PROXY = java.lang.reflect.Proxy.newProxyInstance(
        Alone.class.getClassLoader(), new Class<?>[] {Thing.class}, new Handler());
    static final java.net.URL URL = url(), OTHER_URL = url();
    static final List<Object> URLS = new ArrayList<>(List.of(URL));
    static java.net.URL url() {
      try { return new java.net.URL(null, "http://nowhere.invalid/", new Streams()); }
      catch (java.net.MalformedURLException e) { throw new IllegalStateException(e); }
    }

    static void appendThrowable() { TEXT.append(OOPS); }
    static String concatThrowable() { return "it is " + LOCAL; }
    static String valueOfThrowable() { return String.valueOf(OOPS); }
    static void comparing() { BY_NAME.put(new Named(), ""); }
    static void comparingByObject() { BY_KEY.put("", ""); }
    static String concatProxy() { return "it is " + PROXY; }
    static void hashProxy() { HASHED.put(PROXY, ""); }
    static boolean containsUrl() { return URLS.contains(OTHER_URL); }
    static String concatUrl() { return "it is " + URL; }
    static String concatFile() { return "it is " + PATH; }
    static boolean equalDates() { return EPOCH.equals(DAY); }
    static String objectsToString() { return Objects.toString(OWN); }
    static void hashOwn() { HASHED.put(OWN, ""); }

    public static void main(String[] args) throws Exception {
      for (String it : args) { Alone.class.getDeclaredMethod(it).invoke(null); }
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        calls = 0;
        Alone.class.getDeclaredMethod(line).invoke(null);
        System.out.println("done " + line + " " + calls);
      }
    }
  }`

const ROOTS = [
  ...[
    'appendThrowable',
    'concatThrowable',
    'valueOfThrowable',
    'comparing',
    'comparingByObject',
    'concatProxy',
  ],
  ...['hashProxy', 'containsUrl', 'concatUrl', 'concatFile', 'equalDates', 'objectsToString', 'hashOwn'],
]

forNewestJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Alone': HOST })
  })
  // The JDK determines the callbacks, and the scheme determines how jfluid finds them. Few errors depend on both.
  describe.each<'a' | 'b'>(FULL ? ['a', 'b'] : ['b'])('callbacks with scheme %s', (scheme) => {
    // One session changes its root several times. For each root, jfluid uses only the methods that it has found below this root.
    it('callbacks from a single call into the JDK are counted', { timeout: 120_000 }, async () => {
      const java = startJava(jdk, ['-cp', classes, 'fix.Alone', ...ROOTS])
      await java.line(/^ready$/)
      const options = sessionOptions({ root: [`fix.Alone.${ROOTS[0]}`], scheme })
      const session = await Session.start(await attachDoor(java.pid), options)
      const found: string[] = []
      const expected: string[] = []
      for (const root of ROOTS) {
        if (root !== ROOTS[0]) await session.changeRoots([parseRoot(`fix.Alone.${root}`)])
        java.send(root)
        const said = await java.line(new RegExp(`^done ${root} `))
        expected.push(`${root} ${said.split(' ')[2]}`)
        found.push(`${root} ${await ticksBelowRoot(session)}`)
      }
      await session.detach()
      await session.close()
      expect(found).toEqual(expected)
      // Each root has callbacks.
      expect(expected.filter((it) => it.endsWith(' 0'))).toEqual([])
    })
  })
})

/** Returns the calls of tick() once all events of the root's only call are read. The exit event of this call follows all callbacks. */
async function ticksBelowRoot(session: Session): Promise<number> {
  await until(async () => (await session.snapshot(false)).rootCalls!.count === 1)
  // The tree of a snapshot may be slightly older than its number of root calls.
  const { merged } = await session.snapshot(false)
  let calls = 0
  for (let node = 0; node < merged.count; node++) {
    if (session.methodName(merged.method[node]!).method === 'tick') calls += merged.metrics.calls![node]!
  }
  return calls
}
