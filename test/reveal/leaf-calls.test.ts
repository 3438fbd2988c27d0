import { describe, expect, it } from 'vitest'
import { DENY_LIST, deniedClass, deniedMethod } from '../../src/reveal/deny-list.ts'
import {
  GATE_CLOSED,
  GATE_COLLECTIONS,
  GATE_FULL,
  GATE_TEXT,
  gateAdmits,
  gateOf,
} from '../../src/reveal/leaf-calls.ts'

/** `java/lang/Math.abs(I)I`, then its superclasses. */
function gate(call: string, ...above: string[]): number {
  const at = call.indexOf('(')
  const dot = call.lastIndexOf('.', at)
  return gateOf([call.slice(0, dot), ...above], call.slice(dot + 1, at), call.slice(at))
}

describe('a call into the JDK', () => {
  it('calls nothing back if it only computes', () => {
    expect(gate('java/lang/Math.abs(I)I')).toBe(GATE_CLOSED)
    expect(gate('java/lang/StringBuilder.append(I)Ljava/lang/StringBuilder;')).toBe(GATE_CLOSED)
    expect(gate('java/lang/Integer.valueOf(I)Ljava/lang/Integer;')).toBe(GATE_CLOSED)
    expect(gate('java/lang/Integer.toString()Ljava/lang/String;')).toBe(GATE_CLOSED)
    expect(gate('[I.clone()Ljava/lang/Object;')).toBe(GATE_CLOSED)
    expect(gate('java/lang/IllegalStateException.<init>(Ljava/lang/String;)V')).toBe(GATE_CLOSED)
    expect(gate('java/lang/Enum.ordinal()I', 'java/lang/Object')).toBe(GATE_CLOSED)
  })

  it('prints an object with its toString', () => {
    expect(gate('java/lang/StringBuilder.append(Ljava/lang/Object;)Ljava/lang/StringBuilder;')).toBe(
      GATE_TEXT,
    )
    expect(gate('java/lang/Object.toString()Ljava/lang/String;')).toBe(GATE_TEXT)
    expect(gateAdmits(GATE_TEXT, 'java/lang/Object', 'toString()Ljava/lang/String;')).toBe(true)
    expect(gateAdmits(GATE_TEXT, 'java/lang/Object', 'equals(Ljava/lang/Object;)Z')).toBe(false)
    expect(gateAdmits(GATE_TEXT, 'java/util/AbstractCollection', 'iterator()Ljava/util/Iterator;')).toBe(true)
    expect(gateAdmits(GATE_TEXT, 'java/lang/Runnable', 'run()V')).toBe(false)
  })

  it('compares elements of a concrete collection', () => {
    expect(gate('java/util/HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;')).toBe(GATE_COLLECTIONS)
    expect(
      gateAdmits(GATE_COLLECTIONS, 'java/util/Comparator', 'compare(Ljava/lang/Object;Ljava/lang/Object;)I'),
    ).toBe(true)
    expect(
      gateAdmits(
        GATE_COLLECTIONS,
        'java/util/function/Function',
        'apply(Ljava/lang/Object;)Ljava/lang/Object;',
      ),
    ).toBe(false)
  })

  it('may do anything otherwise: interfaces, constructors of other classes, an exception with a cause', () => {
    expect(gate('java/util/List.get(I)Ljava/lang/Object;')).toBe(GATE_FULL)
    expect(gate('java/util/Iterator.next()Ljava/lang/Object;')).toBe(GATE_FULL)
    expect(gate('java/util/ArrayList.forEach(Ljava/util/function/Consumer;)V')).toBe(GATE_FULL)
    expect(gate('java/lang/RuntimeException.<init>(Ljava/lang/Throwable;)V')).toBe(GATE_FULL)
    expect(gate('java/lang/Object.clone()Ljava/lang/Object;')).toBe(GATE_CLOSED)
    expect(gate('java/util/HashMap.clone()Ljava/lang/Object;', 'java/lang/Object')).toBe(GATE_FULL)
    expect(
      gate('java/io/BufferedReader.<init>(Ljava/io/Reader;)V', 'java/io/Reader', 'java/lang/Object'),
    ).toBe(GATE_FULL)
  })
})

describe('the deny-list', () => {
  it('names classes and methods with a reason', () => {
    expect(deniedClass('java/lang/JFluid1')).toMatch(/profiler itself/)
    expect(deniedClass('java/lang/VirtualThread$VThreadContinuation')).toMatch(/virtual threads/)
    expect(deniedClass('jdk/internal/vm/Continuation')).not.toBeNull()
    expect(deniedClass('java/lang/ref/ReferenceQueue')).toBeNull()
    expect(deniedClass('java/lang/Thread')).toBeNull()
    expect(deniedClass('com/foo/java/lang/JFluid1')).toBeNull()
    expect(deniedMethod('java/lang/Thread', 'currentThread')).not.toBeNull()
    expect(deniedMethod('java/lang/Thread', 'run')).toBeNull()
    expect(DENY_LIST.every((it) => it.reason.length > 0)).toBe(true)
  })
})
