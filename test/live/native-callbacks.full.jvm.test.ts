// Native code of the application calls methods by name. Calls of methods of its own class, and of objects passed to it, are counted,
// including private methods, constructors and classes that are loaded later. The native code also throws exceptions through instrumented
// frames. Methods that it finds only by a class name are not counted, and the profile reports this.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { callsByMethod, lines, startRecording } from '../support/jfluid.ts'

const HOST = `
  package fix;
  public class Foreign {
    interface Listener { }
    static class Eager implements Listener { private int heard(int x) { return step(x); } }
    static class Late implements Listener { private int heard(int x) { return step(x) + 1; } }
    static class Elsewhere { static int found(int x) { return step(x); } }
    static int step(int x) { return x + 1; }
    private static int own(int x) { return step(x); }
    native int work(Listener to, int times);
    static int root(String name) throws Exception {
      Listener to = (Listener) Class.forName("fix.Foreign$" + name).getDeclaredConstructor().newInstance();
      int sum = new Foreign().work(to, 10);
      try { new Foreign().work(null, 0); } catch (IllegalStateException expected) { sum = step(sum); }
      return sum;
    }
    public static void main(String[] args) throws Exception {
      System.load(args[0]);
      new Eager();
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) System.out.println("done " + root(line));
    }
  }`

const NATIVE = `
  #include <jni.h>
  JNIEXPORT jint JNICALL Java_fix_Foreign_work(JNIEnv *env, jobject self, jobject to, jint times) {
    if (to == NULL) {
      (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/IllegalStateException"), "from native code");
      return 0;
    }
    jclass ours = (*env)->GetObjectClass(env, self), theirs = (*env)->GetObjectClass(env, to);
    jclass other = (*env)->FindClass(env, "fix/Foreign$Elsewhere");
    jmethodID own = (*env)->GetStaticMethodID(env, ours, "own", "(I)I");
    jmethodID heard = (*env)->GetMethodID(env, theirs, "heard", "(I)I");
    jmethodID found = (*env)->GetStaticMethodID(env, other, "found", "(I)I");
    jmethodID make = (*env)->GetMethodID(env, theirs, "<init>", "()V");
    int sum = 0;
    for (int i = 0; i < times; i++) {
      sum += (*env)->CallStaticIntMethod(env, ours, own, i) + (*env)->CallIntMethod(env, to, heard, i);
    }
    (*env)->NewObject(env, theirs, make);
    return sum + (*env)->CallStaticIntMethod(env, other, found, 1);
  }`

forEachJdk((jdk) => {
  let classes: string
  let library: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Foreign': HOST })
    const dir = temporaryDirectory()
    writeFileSync(join(dir, 'foreign.c'), NATIVE)
    library = join(dir, 'libforeign.so')
    const include = join(jdk.home, 'include')
    const headers = [`-I${include}`, `-I${join(include, 'linux')}`]
    execFileSync('gcc', ['-shared', '-fPIC', ...headers, '-o', library, join(dir, 'foreign.c')])
  })
  describe.each(['a', 'b'])('native code that calls methods by name, with scheme %s', (scheme) => {
    it('methods that native code calls by name are counted, even if the native code throws an exception', async () => {
      const java = startJava(jdk, ['-cp', classes, 'fix.Foreign', library])
      await java.line(/ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Foreign.root', '--scheme', scheme)
      await recording.started
      java.send('Eager')
      java.send('Late')
      await java.line(/^done/, 2)
      const profile = await recording.stop()
      const found = lines(callsByMethod(profile)).filter((line) => !line.includes('Elsewhere'))
      const { skipped, healed, gaps } = profile.instrumentation
      expect(found).toEqual([
        'fix.Foreign$Eager.<init>()V 2',
        'fix.Foreign$Eager.heard(I)I 10',
        'fix.Foreign$Late.<init>()V 2',
        'fix.Foreign$Late.heard(I)I 10',
        'fix.Foreign.<init>()V 4',
        'fix.Foreign.own(I)I 20',
        'fix.Foreign.root(Ljava/lang/String;)I 2',
        'fix.Foreign.step(I)I 44',
      ])
      expect(skipped).toEqual([
        {
          method: 'fix.Foreign.work(Lfix/Foreign$Listener;I)I',
          reason:
            'native: methods that it calls by name, in classes that are not passed to it, may be missing',
        },
      ])
      expect([healed, gaps, profile.truncated]).toEqual([0, 0, false])
    })
  })
})
