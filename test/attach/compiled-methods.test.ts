import { describe, expect, it } from 'vitest'
import { parseCodeList } from '../../src/attach/loaded-code.ts'

describe('a list of compiled methods', () => {
  it('each compiled method is listed with its class and descriptor', () => {
    const text = [
      '42 4 0 java.util.ArrayList.add(Ljava/lang/Object;)Z [0x00007f, 0x00007f - 0x00007f]',
      '  7 1 -1 a.B$C.<init>()V [0x00007f, 0x00007f - 0x00007f]',
      'Dumping stops here.',
      '',
    ].join('\n')
    expect([...parseCodeList(text)]).toEqual([
      'java.util.ArrayList.add(Ljava/lang/Object;)Z',
      'a.B$C.<init>()V',
    ])
  })

  it('the list of compiled methods is empty if the JVM replies with an error', () => {
    expect(parseCodeList('java.lang.IllegalArgumentException: Unknown diagnostic command').size).toBe(0)
  })
})
