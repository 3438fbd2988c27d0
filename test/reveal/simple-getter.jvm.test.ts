import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ACC_INTERFACE } from '../../src/classfile/access.ts'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { type ClassOfValue, targetOfStep } from '../../src/reveal/simple-getter.ts'
import { compileJava } from '../support/java-process.ts'
import { oldest } from '../support/jdks.ts'

const PROGRAM = `
  package shop;
  interface Named { default String label() { return name(); } String name(); default int size() { return 7; } }
  interface Sized extends Named { default int size() { return count(); } int count(); }
  class Base { private String id; static int made; protected long total; String getId() { return id; } Object own() { return id; }
    synchronized long getTotal() { return total; } }
  class Order extends Base implements Sized {
    String name; int count; boolean paid; String id;
    public String name() { return this.name; }
    public int count() { return count; }
    boolean isPaid() { return paid; }
    String own() { return getId(); }
    String over() { return super.getId(); }
    String early() { return one(); } String one() { return two(); } String two() { return three(); } String three() { return four(); }
    String four() { return name; }
    String computed() { return name + "!"; }
    int[] cells() { return null; }
    int add(int a) { return count; }
    static int fixed() { return 1; }
    void nothing() {}
    static int made() { return made; }
    Object generic() { return name; }
  }
  class Special extends Order { public String name() { return "special"; } }
  class Hidden { private String id; String part; private String id() { return id; } public String getId() { return id(); }
    String part() { return part; } public String getPart() { return part(); } }
  class Shown extends Hidden { String other; public String id() { return other; } String part() { return other; } }
  record Line(String item, double price) {}`

let classes: Map<string, ClassOfValue>
beforeAll(async () => {
  const dir = join(await compileJava(oldest, { 'shop/Order': PROGRAM }), 'shop')
  classes = new Map(
    readdirSync(dir).map((name, i) => [
      name.replace('.class', ''),
      { id: i + 1, file: parseClassFile(readFileSync(join(dir, name))) },
    ]),
  )
})

const named = (name: string): ClassOfValue | undefined => classes.get(name.replace('shop/', ''))

/** Returns what `step` reads in objects of a class, as `Order.name:Ljava/lang/String;`. */
function read(className: string, step: string): string {
  const chain: ClassOfValue[] = []
  for (let at = named(className); at !== undefined; at = named(at.file.superName ?? '')) chain.push(at)
  const interfaces = [...classes.values()].filter(({ file }) => isInterfaceOf(file, chain))
  const isCall = step.endsWith('()')
  const found = targetOfStep({ name: step.replace('()', ''), isCall }, chain, interfaces)
  if (found.how === 'nothing') return 'nothing'
  const holder = [...classes].find(([, { id }]) => id === found.holder)?.[0]
  return `${found.how} ${holder}.${found.name} ${found.descriptor}`
}

function isInterfaceOf(file: ClassFile, chain: readonly ClassOfValue[]): boolean {
  const direct = chain.flatMap((it) => it.file.interfaces)
  const all = direct.flatMap((it) => [it, ...(named(it)?.file.interfaces ?? [])])
  return (file.access & ACC_INTERFACE) !== 0 && all.includes(file.name)
}

describe('what a step of a path reads', () => {
  it('a field is found in the class or its nearest superclass', () => {
    expect(read('Order', 'count')).toBe('field Order.count I')
    expect(read('Order', 'total')).toBe('field Base.total J')
    expect(read('Order', 'id')).toBe('field Order.id Ljava/lang/String;')
    expect(read('Base', 'id')).toBe('field Base.id Ljava/lang/String;')
    expect(read('Line', 'price')).toBe('field Line.price D')
  })

  it('a getter whose bytecode only returns a field is this field', () => {
    expect(read('Order', 'name()')).toBe('field Order.name Ljava/lang/String;')
    expect(read('Order', 'isPaid()')).toBe('field Order.paid Z')
    expect(read('Order', 'getId()')).toBe('field Base.id Ljava/lang/String;')
    expect(read('Order', 'getTotal()')).toBe('field Base.total J')
    expect(read('Line', 'item()')).toBe('field Line.item Ljava/lang/String;')
    expect(read('Order', 'generic()')).toBe('field Order.name Ljava/lang/String;')
  })

  it('a getter that calls a getter of the same object is its field, also across compiler-generated methods and interfaces', () => {
    expect(read('Order', 'own()')).toBe('field Base.id Ljava/lang/String;')
    expect(read('Order', 'over()')).toBe('field Base.id Ljava/lang/String;')
    expect(read('Order', 'label()')).toBe('field Order.name Ljava/lang/String;')
    expect(read('Order', 'size()')).toBe('field Order.count I')
    expect(read('Order', 'one()')).toBe('field Order.name Ljava/lang/String;')
  })

  it('a method that does more runs code, also if a subclass overrides a getter or too many methods are between', () => {
    expect(read('Special', 'name()')).toBe('code Special.name ()Ljava/lang/String;')
    expect(read('Special', 'label()')).toBe('code Named.label ()Ljava/lang/String;')
    expect(read('Order', 'computed()')).toBe('code Order.computed ()Ljava/lang/String;')
    expect(read('Order', 'early()')).toBe('code Order.early ()Ljava/lang/String;')
    expect(read('Order', 'cells()')).toBe('code Order.cells ()[I')
  })

  it('a getter that calls a private method reads the field of this method, also if a subclass has a method of its name', () => {
    expect(read('Shown', 'getId()')).toBe('field Hidden.id Ljava/lang/String;')
    expect(read('Shown', 'id()')).toBe('field Shown.other Ljava/lang/String;')
  })

  it('a getter that calls a method of the package runs code if a subclass has a method of its name', () => {
    expect(read('Hidden', 'getPart()')).toBe('field Hidden.part Ljava/lang/String;')
    expect(read('Shown', 'getPart()')).toBe('code Hidden.getPart ()Ljava/lang/String;')
  })

  it('static members, methods with arguments or without a result, and unknown names are not read', () => {
    const steps = ['made', 'made()', 'fixed()', 'add()', 'nothing()', 'missing', 'missing()', 'name.x']
    for (const step of steps) expect(read('Order', step), step).toBe('nothing')
  })

  it('a name of two fields of one class is not read', () => {
    const { file, id } = classes.get('Line')!
    const twice = [
      { access: 0, name: 'x', descriptor: 'I' },
      { access: 0, name: 'x', descriptor: 'Ljava/lang/String;' },
    ]
    const doubled = Object.create(file, { fields: { value: () => twice } }) as ClassFile
    expect(targetOfStep({ name: 'x', isCall: false }, [{ id, file: doubled }], [])).toEqual({
      how: 'nothing',
    })
  })
})
