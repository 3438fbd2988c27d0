import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { onlyBelow } from '../../../src/session/code/by-hand.ts'
import { Methods, treeOf } from '../../profile/trees.ts'

/** Returns the names of methods that are reached only through `out`. `roots` cannot be excluded. */
function below(notation: string, out: readonly string[], roots: readonly string[] = ['root']): string[] {
  const methods = new Methods()
  const tree = treeOf(notation, methods)
  const idOf = (name: string): number => methods.names.findIndex((it) => it.method === name)
  const mayGo = (id: number): boolean => !roots.includes(methods.names[id]!.method)
  const found = onlyBelow(tree, (id) => id, new Set(out.map(idOf)), mayGo)
  return [...found].map((id) => methods.names[id]!.method).sort()
}

describe('methods excluded together with their caller', () => {
  it('methods excluded together with their caller are callees at any depth that have no other caller', () => {
    assert.deepEqual(below('root 1x 1ns ( a 1x 1ns ( b 1x 1ns ( c 1x 1ns ) ) d 1x 1ns )', ['a']), ['b', 'c'])
  })

  it('methods excluded together with their caller do not include methods with another caller, or callees of methods with another caller', () => {
    const calls = 'root 1x 1ns ( a 1x 1ns ( b 1x 1ns ( c 1x 1ns ) e 1x 1ns ) d 1x 1ns ( b 1x 1ns ) )'
    assert.deepEqual(below(calls, ['a']), ['e'])
    assert.deepEqual(below(calls, ['a', 'd']), ['b', 'c', 'e'])
  })

  it('methods excluded together with their caller include recursive and mutually recursive callees', () => {
    assert.deepEqual(
      below('root 1x 1ns ( a 1x 1ns ( b 1x 1ns ( b 1x 1ns ( c 1x 1ns ( b 1x 1ns ) ) ) ) )', ['a']),
      ['b', 'c'],
    )
    const entered = 'root 1x 1ns ( a 1x 1ns ( b 1x 1ns ( c 1x 1ns ( b 1x 1ns ) ) ) d 1x 1ns ( c 1x 1ns ) )'
    assert.deepEqual(below(entered, ['a']), [])
  })

  it('methods excluded together with their caller do not include roots and callees of roots', () => {
    const calls = 'root 1x 1ns ( a 1x 1ns ( root 1x 1ns ( b 1x 1ns ) c 1x 1ns ) )'
    assert.deepEqual(below(calls, ['a']), ['c'])
    assert.deepEqual(below('root 1x 1ns ( a 1x 1ns )  a 1x 1ns ( b 1x 1ns )', ['a']), ['b'])
    assert.deepEqual(below('root 1x 1ns ( a 1x 1ns ( b 1x 1ns ) )  b 1x 1ns', ['a']), [])
  })
})
