// The fields of a ThreadInfo that a thread writes for every event are on cache lines that no other thread writes for every event.
// 128 bytes: processors fetch lines in pairs.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { jcmd } from '../live/remains.ts'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'

const LINE = 128
const OBJECTS = 1000

/** Prints offset and size of each field of a ThreadInfo, and keeps some ThreadInfos. */
const SHOW_FIELDS = `
  import java.lang.reflect.*;
  import jdk.internal.misc.Unsafe;
  public class ShowFields {
    static final Object[] KEPT = new Object[${OBJECTS}];
    public static void main(String[] args) throws Exception {
      Class<?> c = Class.forName("java.lang.JFluid1Threads$ThreadInfo");
      Unsafe unsafe = Unsafe.getUnsafe();
      for (int i = 0; i < KEPT.length; i++) KEPT[i] = unsafe.allocateInstance(c);
      for (Field f : c.getDeclaredFields()) {
        if (Modifier.isStatic(f.getModifiers())) continue;
        Class<?> type = f.getType();
        int size = type == long.class ? 8 : type == boolean.class ? 1 : type == int.class ? 4
            : (int) ((Number) Unsafe.class.getField("ARRAY_OBJECT_INDEX_SCALE").get(null)).longValue();
        System.out.println("field " + f.getName() + " " + unsafe.objectFieldOffset(f) + " " + size);
      }
      System.out.println("ready");
      System.in.read();
    }
  }`

forEachJdk((jdk) => {
  it('two adjacent ThreadInfo objects share no cache line that both threads write at every event', async () => {
    const jar = fileURLToPath(new URL('../../dist/agent/jfluid-agent.jar', import.meta.url))
    const dir = temporaryDirectory('jfluid-hot-')
    execFileSync(join(newest.tools, 'jar'), ['xf', jar, 'runtime'], { cwd: dir })
    const internals = '--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED'
    const classes = await compileJava(
      jdk,
      { 'ShowFields.java': SHOW_FIELDS },
      { release: null, options: [internals] },
    )
    const patched = `--patch-module=java.base=${join(dir, 'runtime')}`
    const java = startJava(jdk, [internals, patched, '-cp', classes, 'ShowFields'])
    await java.line(/^ready/)
    const [, instances, bytes] =
      /(\d+)\s+(\d+)\s+java\.lang\.JFluid1Threads\$ThreadInfo\s/.exec(
        await jcmd(java.pid, 'GC.class_histogram'),
      ) ?? []
    expect(Number(instances)).toBe(OBJECTS)
    const size = Number(bytes) / OBJECTS
    const fields = [...java.stdout().matchAll(/^field (\w+) (\d+) (\d+)$/gm)].map(([, name, at, width]) => ({
      name,
      start: Number(at),
      end: Number(at) + Number(width),
    }))
    expect(fields.map((field) => field.name)).toContain('next')
    const before = Math.min(...fields.map((field) => field.start))
    const behind = size - Math.max(...fields.map((field) => field.end))
    console.info(`JDK ${jdk.version}: ${size} bytes, ${before} before the fields, ${behind} behind them`)
    // The fields of neighbouring objects are on other cache lines as well.
    expect(before).toBeGreaterThanOrEqual(LINE)
    expect(behind).toBeGreaterThanOrEqual(LINE - 8) // the next object's header has at least 8 bytes
  })
})
