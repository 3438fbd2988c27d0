import { describe, expect, it } from 'vitest'
import { BadPattern } from '../../src/reveal/errors.ts'
import { editDistance, nearest } from '../../src/reveal/near.ts'
import {
  matchesClass,
  matchesMethod,
  parseClassPattern,
  parseRoot,
  RANK_FULL,
  RANK_NESTED,
  RANK_NONE,
  RANK_SIMPLE,
  rootRank,
} from '../../src/reveal/patterns.ts'

const matches = (root: string, name: string, method = 'run', descriptor = '()V') => {
  const pattern = parseRoot(root)
  return rootRank(pattern, name) !== RANK_NONE && matchesMethod(pattern, method, descriptor)
}
const takes = (pattern: string, name: string) => matchesClass(parseClassPattern('include', pattern), name)

describe('the pattern of a root', () => {
  it('the pattern of a root may name a nested class with any separator', () => {
    for (const root of [
      'com.foo.Outer.Inner.run',
      'com/foo/Outer$Inner.run',
      'com/foo/Outer/Inner.run',
      'com.foo.Outer$Inner#run',
      'com.foo.Outer.Inner::run',
    ]) {
      expect(matches(root, 'com/foo/Outer$Inner'), root).toBe(true)
    }
  })

  it('the pattern of a root may omit the package, and matching classes are ranked', () => {
    expect(rootRank(parseRoot('com.foo.Bar.run'), 'com/foo/Bar')).toBe(RANK_FULL)
    expect(rootRank(parseRoot('Bar.run'), 'com/foo/Bar')).toBe(RANK_SIMPLE)
    expect(rootRank(parseRoot('foo.Bar.run'), 'com/foo/Bar')).toBe(RANK_SIMPLE)
    expect(rootRank(parseRoot('Inner.run'), 'com/foo/Outer$Inner')).toBe(RANK_NESTED)
    expect(rootRank(parseRoot('Bar.run'), 'com/foo/FooBar')).toBe(RANK_NONE)
    expect(rootRank(parseRoot('Bar.run'), 'Bar')).toBe(RANK_FULL)
  })

  it('the pattern of a root may name Kotlin methods in backticks, and names in any script', () => {
    for (const method of ["it's done", 'größe𝒜', 'a-b', 'ब्यौरा']) {
      expect(matches(`com.foo.Größe.${method}`, 'com/foo/Größe', method), method).toBe(true)
      expect(matches(`com.foo.Größe.${method}(int)`, 'com/foo/Größe', method, '(I)V'), method).toBe(true)
    }
  })

  it('in the pattern of a root, the dollar sign of a generated name is kept', () => {
    expect(matches('$Proxy12.run', 'jdk/proxy2/$Proxy12')).toBe(true)
  })

  it('the pattern of a root selects an overload by a descriptor or by type names', () => {
    const put = '(ILjava/lang/String;[J)V'
    for (const root of [
      'A.put',
      'A.put(ILjava/lang/String;[J)',
      'A.put(ILjava/lang/String;[J)V',
      'A.put(int, String, long[])',
      'A.put(int,java.lang.String,long...)',
    ]) {
      expect(matches(root, 'A', 'put', put), root).toBe(true)
    }
    for (const root of [
      'A.put()',
      'A.put(int)',
      'A.put(ILjava/lang/String;[J)I',
      'A.put(int, Strin, long[])',
    ]) {
      expect(matches(root, 'A', 'put', put), root).toBe(false)
    }
  })

  it('in the pattern of a root, <init> or new is a constructor, and <clinit> is a class initialiser', () => {
    expect(matches('A.new', 'A', '<init>')).toBe(true)
    expect(matches('A.<init>(int)', 'A', '<init>', '(I)V')).toBe(true)
    expect(matches('A.<clinit>', 'A', '<clinit>')).toBe(true)
  })

  it('the pattern of a root may have wildcards, and a wildcard does not match constructors', () => {
    expect(matches('com.foo.Bar.*', 'com/foo/Bar')).toBe(true)
    expect(matches('Bar.r*', 'com/foo/Bar')).toBe(true)
    expect(matches('Bar.*', 'com/foo/Bar', '<init>')).toBe(false)
    expect(matches('*Service.run', 'com/foo/MailService')).toBe(true)
    expect(matches('com.*.Bar.run', 'com/foo/Bar')).toBe(true)
    expect(matches('com.*.Bar.run', 'com/foo/baz/Bar')).toBe(false)
    expect(matches('com.**.Bar.run', 'com/foo/baz/Bar')).toBe(true)
  })

  it.each([
    '',
    'run',
    '.run',
    'Foo.',
    'Foo.run(',
    'Foo.run)',
    'a..b.run',
    'Foo.run()X',
    'Foo.<run>',
    'Foo Bar.run',
    '[I.clone',
  ])('the root pattern %j is refused with a hint', (text) => {
    expect(() => parseRoot(text)).toThrow(BadPattern)
    try {
      parseRoot(text)
    } catch (error) {
      expect(error).toMatchObject({ exitCode: 64, hint: expect.stringContaining('Class.method') })
    }
  })
})

describe('an include or exclude pattern', () => {
  it('one star matches within a package, two stars also match subpackages', () => {
    expect(takes('com.foo.*', 'com/foo/Bar')).toBe(true)
    expect(takes('com.foo.*', 'com/foo/Bar$Inner')).toBe(true)
    expect(takes('com.foo.*', 'com/foo/sub/Bar')).toBe(false)
    expect(takes('com.foo.**', 'com/foo/sub/Bar')).toBe(true)
    expect(takes('com/foo/**', 'com/foo/Bar')).toBe(true)
    expect(takes('com.foo.*', 'com/foobar/Bar')).toBe(false)
  })

  it('a pattern without a package matches any package, including nested classes', () => {
    expect(takes('*Service', 'com/foo/MailService')).toBe(true)
    expect(takes('*Service', 'com/foo/MailService$Job')).toBe(true)
    expect(takes('Bar', 'com/foo/Bar')).toBe(true)
    expect(takes('Bar', 'com/foo/Outer$Bar')).toBe(true)
    expect(takes('Bar', 'com/foo/Barn')).toBe(false)
    expect(takes('Outer.Inner', 'Outer$Inner')).toBe(true)
  })

  it('a pattern may be in any script, with combining marks', () => {
    expect(takes('com.größe.日本*', 'com/größe/日本語')).toBe(true)
    expect(takes('*विवरण', 'com/foo/मेरीविवरण')).toBe(true)
    expect(takes('*𝒜', 'com/foo/𝒜')).toBe(true)
  })

  it.each(['', 'com..foo', '.Foo', 'Foo.', 'a b', 'Foo(int)', '***', 'Foo;'])(
    'the include or exclude pattern %j is refused',
    (text) => {
      expect(() => parseClassPattern('exclude', text)).toThrow(BadPattern)
    },
  )
})

describe('names close to a misspelt name', () => {
  it('close names differ by few edits, and a swap of two letters is one edit', () => {
    expect(editDistance('process', 'porcess')).toBe(1)
    expect(editDistance('Process', 'process')).toBe(0)
    expect(editDistance('run', 'walk')).toBe(4)
    expect(editDistance('abcdefgh', 'zzzzzzzz', 2)).toBe(3)
  })

  it('close names are sorted by the number of edits; if there are none, names that contain the text are returned', () => {
    expect(nearest('proces', ['process', 'processAll', 'close', 'prices'])).toEqual([
      'process',
      'prices',
      'processAll',
    ])
    expect(nearest('xyz', ['process'])).toEqual([])
  })

  it('names that match as an abbreviation come last', () => {
    const classes = ['OrderService', 'OrdSrv2', 'Journal', 'StandardsBoard']
    expect(nearest('OrdSrv', classes)).toEqual(['OrdSrv2', 'OrderService'])
    expect(nearest('OS', classes)).toEqual([]) // two letters are too short for an abbreviation
  })
})
