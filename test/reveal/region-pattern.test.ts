import { describe, expect, it } from 'vitest'
import { BadPattern } from '../../src/reveal/errors.ts'
import { parseRegion } from '../../src/reveal/region-pattern.ts'

describe('the pattern of a region', () => {
  it.each([
    ['Foo.bar', 'Foo', 'bar', null],
    ['com.foo.Foo.bar:12', 'com.foo.Foo', 'bar', { from: 12, to: 12 }],
    ['Foo.bar:12-30', 'Foo', 'bar', { from: 12, to: 30 }],
    [' Foo::bar : 12 - 30 ', 'Foo', 'bar', { from: 12, to: 30 }],
    ['Foo.bar(int, String):7-7', 'Foo', 'bar', { from: 7, to: 7 }],
    ['Foo.bar([Lcom/foo/A;I)V:7-65535', 'Foo', 'bar', { from: 7, to: 65535 }],
    ['Foo.new:3', 'Foo', '<init>', { from: 3, to: 3 }],
  ])('the region pattern %s is parsed', (text, className, method, lines) => {
    expect(parseRegion(text)).toMatchObject({ text, method: { className, method, option: 'region' }, lines })
  })

  it.each([
    ['Foo.bar:30-12', 'line 30 comes after line 12'],
    ['Foo.bar:', "'' is neither a line"],
    ['Foo.bar:x', "'x' is neither a line"],
    ['Foo.bar:1-2-3', "'1-2-3' is neither a line"],
    ['Foo.bar:-3', "'-3' is neither a line"],
    ['Foo.bar:1:2', "'1:2' is neither a line"],
    ['Foo.bar:0-4', 'lines are numbered from 1'],
    ['Foo.bar:70000', 'lines are numbered from 1 to 65535'],
    ['bar', 'names no class and method'],
    ['', 'names no class and method'],
    ['Foo.bar(int:3', "'(' is not closed"],
  ])('the region pattern %s is refused', (text, reason) => {
    expect(() => parseRegion(text)).toThrow(BadPattern)
    expect(() => parseRegion(text)).toThrow(reason)
    expect(() => parseRegion(text)).toThrow(`cannot read region '${text}'`)
  })
})
