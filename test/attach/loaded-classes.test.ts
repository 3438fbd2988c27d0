import { expect, it } from 'vitest'
import { parseClassHierarchy } from '../../src/attach/loaded-code.ts'

it('loaded classes are listed by name, without loaders, arrays and hidden classes', () => {
  const text = [
    'java.lang.Object/null',
    '|--shop.Order/0x00007f12a4001d60',
    '|  |--shop.Order$Big/0x00007f12a4001d60 (intf)',
    '|--shop.Main$$Lambda+0x00007f1234/0x00007f12a4001d60',
    '|--shop.Main$$Lambda/0x00007f1234/0x00007f12a4001d60',
    '|--[Ljava.lang.Object;/null',
    '|--java.util.HashMap/null',
    '',
  ].join('\n')
  expect(parseClassHierarchy(text)).toEqual([
    ...['java.lang.Object', 'shop.Order', 'shop.Order$Big', 'java.util.HashMap'],
  ])
})

it('the list of loaded classes is empty if the JVM replies with an error', () => {
  expect(parseClassHierarchy('java.lang.IllegalArgumentException: Unknown diagnostic command\n')).toEqual([])
})
