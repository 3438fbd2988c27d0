import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { classRefusal } from '../../src/base/refusal.ts'
import { refusedWarnings, skippedWarnings } from '../../src/profile/skipped.ts'

const because = (reason: string, ...methods: string[]) => methods.map((method) => ({ method, reason }))

describe('classes refused by the JVM', () => {
  const schema = classRefusal(
    'java.lang.UnsupportedOperationException: class redefinition failed: attempted to add a method',
  )
  const refused = [...because(schema, 'a.A.one()V', 'a.A.two(Lb/B;)V'), ...because('native', 'a.B.x()V')]

  it("the warning about refused classes has the JVM's message, the consequence, and the other agents", () => {
    assert.deepEqual(refusedWarnings(refused), [
      '1 class could not be instrumented: a.A (the JVM says "attempted to add a method"); calls of 2 methods are missing, and their time counts ' +
        'for their callers. Another agent adds members to the class only when it is loaded, or only when it is redefined (jfluid doctor names the agents)',
    ])
  })

  it('methods of refused classes are not listed again among methods without probes', () => {
    assert.deepEqual(skippedWarnings(refused), [
      '1 method could not be instrumented: 1 for "native" (a.B.x()V)',
    ])
  })

  it('the warning names only the first three refused classes, and the number of further classes', () => {
    const reason = classRefusal('its bytes have changed since it was analysed')
    const many = [1, 2, 3, 4, 5].flatMap((it) => because(reason, `a.A${it}.x()V`))
    assert.deepEqual(refusedWarnings(many), [
      '5 classes could not be instrumented: a.A1 (its bytes have changed since it was analysed), a.A2 (its bytes have changed since it was analysed), ' +
        'a.A3 (its bytes have changed since it was analysed), and 2 more; calls of 5 methods are missing, and their time counts for their callers',
    ])
  })

  it('without refused classes and methods there is no warning', () => {
    assert.deepEqual(refusedWarnings(because('native', 'a.B.x()V')), [])
  })
})

describe('methods without probes', () => {
  it('methods without probes are listed by reason, most frequent first', () => {
    const skipped = [
      ...because('native', 'a.A.one()V'),
      ...because('too long', 'a.B.x()V', 'a.B.y()V', 'a.B.z()V'),
    ]
    assert.deepEqual(skippedWarnings(skipped), [
      '4 methods could not be instrumented: 3 for "too long" (a.B.x()V, a.B.y()V, and 1 more); 1 for "native" (a.A.one()V)',
    ])
  })

  it('only the most frequent reasons are listed, and the other reasons are counted together', () => {
    const skipped = ['1', '2', '3', '4', '5', '6'].flatMap((it) => because(it, `a.A.${it}()V`))
    const [text] = skippedWarnings(skipped)
    assert.match(text ?? '', /1 for "4" \(a\.A\.4\(\)V\); the rest for 2 other reasons$/)
  })

  it('without refused classes and methods there is no warning', () => {
    assert.deepEqual(skippedWarnings([]), [])
  })
})
