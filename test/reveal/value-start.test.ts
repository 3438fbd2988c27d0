import { describe, expect, it } from 'vitest'
import { parseValuePath } from '../../src/base/value-path.ts'
import { startProblem } from '../../src/reveal/value-start.ts'

const ROOT = { className: 'shop.Orders', name: 'order', descriptor: '(Lshop/Request;I[J)V', access: 0 }
const STATIC = { ...ROOT, access: 8, descriptor: '()I' }

describe('the start of the path of a value', () => {
  it('an argument that the root has, and the object of an instance method, can be read', () => {
    for (const path of ['arg0.tenant.id', 'arg1', 'arg2', 'this', 'thrown.detailMessage'])
      expect(startProblem(parseValuePath(path), ROOT), path).toBeNull()
    expect(startProblem(parseValuePath('return'), STATIC)).toBeNull()
  })

  it.each([
    ['arg7.id', 'shop.Orders.order(shop.Request, int, long[]) has 3 arguments'],
    ['arg1.id', 'argument 1 of shop.Orders.order(shop.Request, int, long[]) is int, which has no fields'],
    [
      'arg2.id',
      'argument 2 of shop.Orders.order(shop.Request, int, long[]) is an array, which has no fields',
    ],
    ['return', 'shop.Orders.order(shop.Request, int, long[]) returns no value'],
  ])('%s is refused with its reason', (path, reason) => {
    expect(startProblem(parseValuePath(path), ROOT)).toBe(reason)
  })

  it('a static method and a constructor have no object, and a primitive result has no fields', () => {
    expect(startProblem(parseValuePath('this'), STATIC)).toBe('shop.Orders.order() is static')
    expect(startProblem(parseValuePath('arg0'), STATIC)).toBe('shop.Orders.order() has 0 arguments')
    expect(startProblem(parseValuePath('return.x'), STATIC)).toBe(
      'the value of shop.Orders.order() is int, which has no fields',
    )
    expect(startProblem(parseValuePath('this.x'), { ...ROOT, name: '<init>' })).toBe(
      'the object of shop.Orders.new(shop.Request, int, long[]) is incomplete when the call begins',
    )
  })
})
