import { describe, expect, it } from 'vitest'
import { deniedClass, deniedMethod } from '../../src/reveal/deny-list.ts'
import { GATE_CLOSED, GATE_FULL, gateOf } from '../../src/reveal/leaf-calls.ts'

/** Arguments have the format `java/lang/Math.abs(I)I`, followed by the superclasses. */
function gate(call: string, ...above: string[]): number {
  const at = call.indexOf('(')
  const dot = call.lastIndexOf('.', at)
  return gateOf([call.slice(0, dot), ...above], call.slice(dot + 1, at), call.slice(at))
}

describe('code that a call into the JDK may call back', () => {
  it('a JDK method that only computes a result calls back no method', () => {
    expect(gate('java/lang/Math.abs(I)I')).toBe(GATE_CLOSED)
    expect(gate('java/lang/StringBuilder.append(I)Ljava/lang/StringBuilder;')).toBe(GATE_CLOSED)
    expect(gate('java/lang/Integer.valueOf(I)Ljava/lang/Integer;')).toBe(GATE_CLOSED)
    expect(gate('java/lang/Integer.toString()Ljava/lang/String;')).toBe(GATE_CLOSED)
    expect(gate('[I.clone()Ljava/lang/Object;')).toBe(GATE_CLOSED)
    expect(gate('java/lang/IllegalStateException.<init>(Ljava/lang/String;)V')).toBe(GATE_CLOSED)
    expect(gate('java/lang/Enum.ordinal()I', 'java/lang/Object')).toBe(GATE_CLOSED)
  })

  it('a JDK method that prints or compares an object may call back methods of the parts of that object', () => {
    for (const call of [
      'java/lang/StringBuilder.append(Ljava/lang/Object;)Ljava/lang/StringBuilder;', // calls Throwable.toString(), which calls getMessage()
      'java/lang/String.valueOf(Ljava/lang/Object;)Ljava/lang/String;', // a proxy calls its InvocationHandler
      'java/lang/Object.toString()Ljava/lang/String;',
      'java/util/HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;', // java.net.URL calls its URLStreamHandler
      'java/util/TreeMap.put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;', // Comparator.comparing(function)
      'java/lang/Object.equals(Ljava/lang/Object;)Z',
    ])
      expect(gate(call), call).toBe(GATE_FULL)
  })

  it('any other JDK call (interface methods, other constructors, an exception with a cause) may call back any method', () => {
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

describe('the deny-list of JDK calls', () => {
  it('each class and method in the deny-list has a reason', () => {
    expect(deniedClass('java/lang/JFluid1')).toMatch(/profiler itself/)
    expect(deniedClass('java/lang/invoke/JFluid1Tsc')).toMatch(/profiler itself/)
    expect(deniedClass('java/lang/VirtualThread$VThreadContinuation')).toMatch(/virtual threads/)
    expect(deniedClass('jdk/internal/vm/Continuation')).not.toBeNull()
    expect(deniedClass('java/lang/ref/ReferenceQueue')).toBeNull()
    expect(deniedClass('java/lang/Thread')).toBeNull()
    expect(deniedClass('com/foo/java/lang/JFluid1')).toBeNull()
    expect(deniedMethod('java/lang/Thread', 'currentThread')).not.toBeNull()
    expect(deniedMethod('java/lang/Thread', 'run')).toBeNull()
    // Methods that a thread runs before it is registered: a root there would call itself endlessly.
    expect(deniedMethod('java/lang/Thread', 'getName')).not.toBeNull()
    expect(deniedMethod('java/lang/ref/WeakReference', '<init>')).not.toBeNull()
  })
})
