// The layouts are defined in TypeScript and repeated in Java. Both must be equal.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import * as event from '../../src/events/event-layout.ts'
import * as ring from '../../src/events/ring-layout.ts'
import * as tree from '../../src/events/tree-layout.ts'

const java = readFileSync(
  new URL('../../backend-java/runtime/java/lang/JFluid1Layout.java', import.meta.url),
  'utf8',
)

/** Matches the value of `int NAME = 24;`, `long NAME = 3L << 62;` or `KIND_CONTROL | 3L << TICK_BITS;` in Java. */
function javaConstant(name: string): number {
  const plain = new RegExp(`(?:int|long) ${name} = (\\d+)L?(?: << 62)?;`).exec(java)
  const control = new RegExp(`long ${name} = KIND_CONTROL \\| (\\d+)L << TICK_BITS;`).exec(java)
  const value = plain?.[1] ?? control?.[1]
  if (value === undefined) throw new Error(`${name} is not in JFluid1Layout.java`)
  return Number(value)
}

describe('constants in TypeScript and Java', () => {
  const shared = Object.entries({ ...ring, ...event, ...tree }).filter(
    ([name, value]) =>
      typeof value === 'number' &&
      ![
        'RING_MAGIC',
        'RING_CHUNK_BYTES',
        'RING_CHUNK_COUNT',
        'RING_CHUNKS_OFFSET',
        'METHOD_BITS',
        'BLOCK_STATES_BYTES',
      ].includes(name),
  )

  it.each(shared)('the constant %s is equal in TypeScript and Java', (name, value) => {
    expect(javaConstant(name)).toBe(value)
  })

  it('the bit fields of an event word use each bit exactly once', () => {
    expect(2 + event.METHOD_BITS + event.TICK_BITS).toBe(64)
  })
})
