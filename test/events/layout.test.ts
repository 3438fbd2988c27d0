import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import * as event from '../../src/events/event-layout.ts'
import * as ring from '../../src/events/ring-layout.ts'
import * as waits from '../../src/events/wait-ids.ts'
import { WAIT_KINDS } from '../../src/instrument/waits.ts'

const java = readFileSync(
  join(import.meta.dirname, '../../backend-java/runtime/java/lang/JFluid1Layout.java'),
  'utf8',
)

/** Matches `static final int NAME = 4;`, `… long NAME = 3L << 62;` or `… = OTHER | 5L << TICK_BITS;` */
function javaConstant(name: string): bigint {
  const [, text] = new RegExp(`static final (?:int|long) ${name} = ([^;]+);`).exec(java) ?? []
  if (text === undefined) throw new Error(`JFluid1Layout.java has no constant ${name}`)
  return text
    .split('|')
    .map((term) => {
      const [value, shift] = term.split('<<').map((part) => part.trim())
      return javaValue(value) << (shift === undefined ? 0n : javaValue(shift))
    })
    .reduce((a, b) => a | b)
}

const javaValue = (text: string): bigint =>
  /^\d/.test(text) ? BigInt(text.replace('L', '')) : javaConstant(text)

describe('layouts shared by client and target', () => {
  const plain = { ...ring, ...event, ...waits } as Record<string, unknown>
  const shared = Object.keys(plain).filter((name) => new RegExp(`static final \\w+ ${name} =`).test(java))

  it.each(shared.filter((name) => !/^(KIND|CONTROL)_/.test(name)))(
    'the TypeScript constant %s has the same value in Java',
    (name) => {
      assert.equal(javaConstant(name), BigInt(plain[name] as number))
    },
  )

  it.each(shared.filter((name) => /^KIND_/.test(name)))(
    'the event kind %s has the same value in TypeScript and Java',
    (name) => {
      assert.equal(javaConstant(name) >> 62n, BigInt(plain[name] as number))
    },
  )

  it.each(shared.filter((name) => /^CONTROL_/.test(name)))(
    'the control event code %s has the same value in TypeScript and Java',
    (name) => {
      const word = javaConstant(name)
      assert.equal(word >> 62n, BigInt(event.KIND_CONTROL))
      assert.equal(
        (word >> BigInt(event.TICK_BITS)) & (2n ** BigInt(event.METHOD_BITS) - 1n),
        BigInt(plain[name] as number),
      )
    },
  )

  it.each(Object.entries(WAIT_KINDS))('the wait kind %s has the value %i in Java', (name, kind) => {
    assert.equal(javaConstant(`KIND_${name.toUpperCase()}`), BigInt(kind))
  })

  it('every layout constant is also in Java, except the listed constants that only the client uses', () => {
    const ours = Object.keys(plain).filter(
      (name) => typeof plain[name] === 'number' && !shared.includes(name),
    )
    assert.deepEqual(ours.sort(), [
      'FIRST_METHOD',
      'METHOD_BITS',
      'RING_CHUNKS_OFFSET',
      'RING_CHUNK_BYTES',
      'RING_CHUNK_COUNT',
      'RING_MAGIC',
    ])
  })
})
