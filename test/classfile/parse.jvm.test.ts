import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, it } from 'vitest'
import { ACC_ABSTRACT, ACC_STATIC } from '../../src/classfile/access.ts'
import { hasAnnotation } from '../../src/classfile/annotations.ts'
import { type ClassFile, ClassFormatProblem, parseClassFile } from '../../src/classfile/class-file.ts'
import { forEachInstruction, parseCode } from '../../src/classfile/code.ts'
import { INVOKEDYNAMIC, INVOKEINTERFACE, INVOKEVIRTUAL, MNEMONICS } from '../../src/classfile/opcodes.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
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

/** Returns calls in the format `total: invokeinterface java/util/List.iterator`. */
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
  it('the class name, superclass and interfaces are read from a class file', () => {
    assert.equal(shop.name, 'shop/Shop')
    assert.equal(shop.superName, 'java/lang/Object')
    assert.deepEqual(shop.interfaces, ['java/lang/Comparable', 'java/lang/Runnable'])
    assert.equal(shop.major, 61)
  })

  it('methods of a class file are read in file order, with flags and descriptors', () => {
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

  it('calls in a method body are read from a class file with the owner and name of the called method', () => {
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

  it("for a lambda, the method that contains the lambda's body is read from a class file", () => {
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

  it('the annotations in a class file are found', () => {
    assert.equal(hasAnnotation(shop, method(shop, 'price'), 'Ljava/lang/Deprecated;'), true)
    assert.equal(hasAnnotation(shop, method(shop, 'run'), 'Ljava/lang/Deprecated;'), false)
  })

  it('a class file that is written again without new method bodies is unchanged, byte for byte', () => {
    for (const bytes of bytesOf.values()) {
      assert.deepEqual(spliceClass(parseClassFile(bytes), 0, NOTHING, []), new Uint8Array(bytes))
    }
  })

  it('a class file that is written again with its own method bodies is unchanged', () => {
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
  it('a class file that is truncated at any byte is reported as a problem', () => {
    for (let length = 0; length < shop.bytes.length; length++) {
      assert.throws(() => parseClassFile(shop.bytes.subarray(0, length)), ClassFormatProblem)
    }
  })

  it('bytes after the end of a class file are reported as a problem', () => {
    assert.throws(() => parseClassFile(Uint8Array.of(...shop.bytes, 0)), /1 bytes too many in the class file/)
  })

  it('the message about a constant of the wrong kind names the constant', () => {
    assert.throws(() => shop.pool.className(0), /constant 0 is not of tag 7 but of tag 0/)
    assert.throws(() => shop.pool.utf8(65535), ClassFormatProblem)
  })
})
