import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, it } from 'vitest'
import { ACC_ABSTRACT, ACC_STATIC } from '../../src/classfile/access.ts'
import { hasAnnotation } from '../../src/classfile/annotations.ts'
import { type ClassFile, ClassFormatProblem, parseClassFile } from '../../src/classfile/class-file.ts'
import { forEachInstruction, parseCode } from '../../src/classfile/code.ts'
import { argumentSlots, parseMethodDescriptor, returnSlots } from '../../src/classfile/descriptor.ts'
import { INVOKEDYNAMIC, INVOKEINTERFACE, INVOKEVIRTUAL, MNEMONICS } from '../../src/classfile/opcodes.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { decodeModifiedUtf8, encodeModifiedUtf8 } from '../../src/classfile/utf8.ts'
import { compileJava } from '../support/java-process.ts'
import { oldest } from '../support/jdks.ts'

const SHOP = `
  package shop;
  import java.util.*;
  import java.util.function.*;
  public abstract class Shop implements Comparable<Shop>, Runnable {
    @Deprecated public abstract int price(long a, double[] b, String... names);
    static int total(List<Shop> shops) {
      int sum = 0;
      for (Shop shop : shops) sum += shop.price(1L, null, "a");
      return sum;
    }
    Supplier<String> greeting(String name) { return () -> "hello " + name; }
    public void run() { new Basket().clear(); }
    public int compareTo(Shop other) { return 0; }
    class Basket { void clear() {} }
  }`

const NOTHING = new Uint8Array(0)

let shop: ClassFile
let bytesOf: Map<string, Uint8Array>
beforeAll(async () => {
  const dir = await compileJava(oldest, { 'shop/Shop': SHOP })
  bytesOf = new Map(
    readdirSync(join(dir, 'shop')).map((file) => [file, readFileSync(join(dir, 'shop', file))]),
  )
  shop = parseClassFile(bytesOf.get('Shop.class')!)
})

function method(classFile: ClassFile, name: string) {
  const found = classFile.methods.find((candidate) => candidate.name === name)
  assert.ok(found, `no method ${name}`)
  return found
}

/** Every call in a method: `total: invokeinterface java/util/List.iterator`, … */
function calls(classFile: ClassFile, name: string): string[] {
  const { pool } = classFile
  const { bytecode } = parseCode(classFile, method(classFile, name))
  const found: string[] = []
  forEachInstruction(bytecode, (bci, opcode) => {
    const index = (bytecode[bci + 1] << 8) | bytecode[bci + 2]
    if (opcode === INVOKEDYNAMIC) found.push(`${MNEMONICS[opcode]} ${pool.invokeDynamic(index).name}`)
    else if (opcode >= INVOKEVIRTUAL && opcode <= INVOKEINTERFACE) {
      const ref = pool.memberRef(index)
      found.push(`${MNEMONICS[opcode]} ${ref.owner}.${ref.name}`)
    }
  })
  return found
}

describe('a class file', () => {
  it('says what it is called, extends and implements', () => {
    assert.equal(shop.name, 'shop/Shop')
    assert.equal(shop.superName, 'java/lang/Object')
    assert.deepEqual(shop.interfaces, ['java/lang/Comparable', 'java/lang/Runnable'])
    assert.equal(shop.major, 61)
    assert.equal(shop.nestHost, undefined)
    assert.equal(parseClassFile(bytesOf.get('Shop$Basket.class')!).nestHost, 'shop/Shop')
  })

  it('has methods in the order of the file, with flags and descriptors', () => {
    assert.deepEqual(
      shop.methods.map(({ name }) => name),
      ['<init>', 'price', 'total', 'greeting', 'run', 'compareTo', 'compareTo', 'lambda$greeting$0'],
    )
    const price = method(shop, 'price')
    assert.equal(price.descriptor, '(J[D[Ljava/lang/String;)I')
    assert.ok(price.access & ACC_ABSTRACT)
    assert.equal(price.code, undefined)
    assert.ok(method(shop, 'total').access & ACC_STATIC)
  })

  it('has calls that name owner and method', () => {
    assert.deepEqual(calls(shop, 'total'), [
      'invokeinterface java/util/List.iterator',
      'invokeinterface java/util/Iterator.hasNext',
      'invokeinterface java/util/Iterator.next',
      'invokevirtual shop/Shop.price',
    ])
    assert.deepEqual(calls(shop, 'run'), [
      'invokespecial shop/Shop$Basket.<init>',
      'invokevirtual shop/Shop$Basket.clear',
    ])
  })

  it('leads from a lambda to the method that holds its body', () => {
    assert.deepEqual(calls(shop, 'greeting'), ['invokedynamic get'])
    const handles = shop.bootstrapMethods
      .filter(({ methodRef }) => shop.pool.methodHandle(methodRef).name === 'metafactory')
      .map(({ arguments: args }) => shop.pool.methodHandle(args[1]))
    assert.deepEqual(handles, [
      {
        kind: 6, // REF_invokeStatic
        owner: 'shop/Shop',
        name: 'lambda$greeting$0',
        descriptor: '(Ljava/lang/String;)Ljava/lang/String;',
        interface: false,
      },
    ])
  })

  it('shows annotations', () => {
    assert.equal(hasAnnotation(shop, method(shop, 'price'), 'Ljava/lang/Deprecated;'), true)
    assert.equal(hasAnnotation(shop, method(shop, 'run'), 'Ljava/lang/Deprecated;'), false)
  })

  it('spliced with nothing is the same class, byte for byte', () => {
    for (const bytes of bytesOf.values()) {
      assert.deepEqual(spliceClass(parseClassFile(bytes), 0, NOTHING, []), new Uint8Array(bytes))
    }
  })

  it('spliced with its own bodies is the same class', () => {
    const bodies = shop.methods
      .filter(({ code }) => code)
      .map(({ index, code }) => ({
        methodIndex: index,
        code: shop.bytes.slice(code!.offset, code!.offset + code!.length),
      }))
    assert.deepEqual(spliceClass(shop, 0, NOTHING, bodies), new Uint8Array(shop.bytes))
  })
})

describe('a broken class file', () => {
  it('is a problem wherever it is cut', () => {
    for (let length = 0; length < shop.bytes.length; length++) {
      assert.throws(() => parseClassFile(shop.bytes.subarray(0, length)), ClassFormatProblem)
    }
  })

  it('is a problem if anything follows it', () => {
    assert.throws(() => parseClassFile(Uint8Array.of(...shop.bytes, 0)), /1 bytes too many in the class file/)
  })

  it('names the constant that is of another kind than was said', () => {
    assert.throws(() => shop.pool.className(0), /constant 0 is not of tag 7 but of tag 0/)
    assert.throws(() => shop.pool.utf8(65535), ClassFormatProblem)
  })
})

describe('an instruction walk', () => {
  const walk = (...bytes: number[]) => {
    const seen: string[] = []
    forEachInstruction(Uint8Array.from(bytes), (bci, opcode) => seen.push(`${bci} ${MNEMONICS[opcode]}`))
    return seen
  }

  it('finds the operands of a switch behind its padding', () => {
    const table = [170, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]
    assert.deepEqual(walk(...table, 177), ['0 tableswitch', '20 return'])
    assert.deepEqual(walk(0, 171, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 177), [
      '0 nop',
      '1 lookupswitch',
      '12 return',
    ])
  })

  it('takes a wide instruction as one', () => {
    assert.deepEqual(walk(196, 21, 1, 0, 196, 132, 1, 0, 0, 1, 177), ['0 wide', '4 wide', '10 return'])
  })

  it('refuses what is no instruction, runs past the end, or counts without bound', () => {
    assert.throws(() => walk(202), /unknown opcode 202/)
    assert.throws(() => walk(17, 0), /past the end/)
    assert.throws(() => walk(196, 0, 0, 0), /wide opcode 0/)
    assert.throws(() => walk(171, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255), /-1 pairs/)
    assert.throws(() => walk(170, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 127, 255, 255, 255), /tableswitch/)
  })
})

describe('a descriptor', () => {
  it('has parameters and a result', () => {
    assert.deepEqual(parseMethodDescriptor('(J[[DLa/B;Z)[I'), {
      parameters: ['J', '[[D', 'La/B;', 'Z'],
      returnType: '[I',
    })
  })

  it('fills two slots for long and double, one for their arrays', () => {
    assert.equal(argumentSlots('(JD[J[[DLJ;I)V'), 8) // 2 + 2 + 1 + 1 + 1 + 1
    assert.equal(returnSlots('(J)V'), 0)
    assert.equal(returnSlots('(V)J'), 2)
  })

  it('may be malformed', () => {
    for (const bad of [
      '',
      '(',
      '()',
      '(V)V',
      '(L;)V',
      '(La)V',
      '()VV',
      'I',
      '([)V',
      `(${'['.repeat(256)}I)V`,
    ]) {
      assert.throws(() => parseMethodDescriptor(bad), ClassFormatProblem, bad)
    }
  })
})

describe('modified UTF-8', () => {
  const decode = (...bytes: number[]) => decodeModifiedUtf8(Uint8Array.from(bytes), 0, bytes.length)

  it('writes NUL in two bytes and a character beyond the BMP as two surrogates', () => {
    assert.equal(decode(0xc0, 0x80), '\0')
    assert.equal(decode(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80), '😀')
    for (const text of ['', 'plain', 'é', '語', '😀', '\ud800 alone', '\0', `${'x'.repeat(9000)}é`]) {
      const bytes = encodeModifiedUtf8(text)
      assert.equal(decodeModifiedUtf8(bytes, 0, bytes.length), text)
    }
  })

  it('refuses other bytes', () => {
    for (const bad of [[0], [0x80], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98, 0x80], [0xc3, 0x41]]) {
      assert.throws(() => decode(...bad), ClassFormatProblem)
    }
  })
})
