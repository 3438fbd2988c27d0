import { describe, expect, it } from 'vitest'
import { valuePathOf } from '../../src/base/value-path.ts'

describe('the path of a value', () => {
  it('a path begins with an argument, this, return or thrown, and has fields and methods without arguments', () => {
    expect(valuePathOf(' arg1.getRequestURI() ')).toEqual({
      text: 'arg1.getRequestURI()',
      start: 1,
      steps: [{ name: 'getRequestURI', isCall: true }],
    })
    expect(valuePathOf('arg0.tenant.id')?.steps.map(({ name }) => name)).toEqual(['tenant', 'id'])
    expect(valuePathOf('this.$outer.größe')?.start).toBe('this')
    for (const start of ['return', 'thrown', 'arg254'])
      expect(valuePathOf(start)).toMatchObject({ text: start, steps: [] })
  })

  it.each([
    ...([
      '',
      'arg',
      'arg255',
      'arg1000',
      'arg-1',
      'args0',
      'Arg0',
      'that',
      'arg0.',
      '.id',
      'arg0..id',
    ] as const),
    ...([
      'arg0.get(1)',
      'arg0.a b',
      'arg0.a/b',
      'arg0.a;',
      'arg0.get()x',
      'arg0.a.b.c.d.e',
      'arg0[1]',
    ] as const),
  ])('%j is no path', (text) => {
    expect(valuePathOf(text)).toBeUndefined()
  })
})
