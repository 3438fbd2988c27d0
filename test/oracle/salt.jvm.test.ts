import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { compileJava } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { withoutSalt } from './salt.ts'

it.each(newestOrAll)(
  'without the salt of immutable sets, a set has the same order in all JVMs, on JDK $version',
  async (jdk) => {
    const source = `
    public class Order {
      public static void main(String[] args) {
        System.out.print(java.util.Set.of("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"));
      }
    }`
    const classes = await compileJava(jdk, { Order: source })
    const orders = async (options: readonly string[]) => {
      const runs = Array.from({ length: 6 }, () =>
        promisify(execFile)(jdk.java, [...options, '-cp', classes, 'Order']),
      )
      return new Set((await Promise.all(runs)).map(({ stdout }) => stdout)).size
    }
    expect(await orders([])).toBeGreaterThan(1)
    expect(await orders(await withoutSalt(jdk))).toBe(1)
  },
)
