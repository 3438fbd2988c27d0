// Comparison of two profiles: computed numbers, text, JSON, conditions.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'vitest'
import { ALLOCATION } from '../../src/cct/allocation.ts'
import { METRICS } from '../../src/measures/columns.ts'
import { changesOf, contextChanges, contextNames, differenceByName } from '../../src/profile/changes.ts'
import { changesJsonPieces } from '../../src/profile/changes-json.ts'
import { changesPieces } from '../../src/profile/changes-text.ts'
import { remarksOf } from '../../src/profile/comparable.ts'
import { compareProfiles, methodKey } from '../../src/profile/compare.ts'
import { BadCondition, judge, parseCondition } from '../../src/profile/condition.ts'
import { decodeProfile } from '../../src/profile/file.ts'
import { methodMatcher, NoSuchMethod } from '../../src/profile/find-method.ts'
import { withMatchingNames } from '../../src/profile/parts.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { callSites } from '../export/exported.ts'
import { chain, Methods, profileOf, profileOfTree } from './trees.ts'

// Per root call before and after: main 100 and 100, work 300 and 250, old 50, fresh 100; a root call costs 450 in both.
const before = profileOf('main 10x 1000000ns ( work 20x 3000000ns old 10x 500000ns )')
const after = profileOf('main 20x 2000000ns ( work 80x 5000000ns ( work 1x 0ns ) fresh 1x 2000000ns )')
const of = (path: string, profile: Profile) => ({ path, profile })

function page(one: Profile, other: Profile, conditions: string[] = [], options = {}): string {
  const changes = changesOf(one, other)
  const verdicts = conditions.flatMap((it) => judge(parseCondition(it, changes.metric), changes, []))
  return [...changesPieces(of('a.jfluid', one), of('b.jfluid', other), changes, verdicts, options)].join('')
}

describe('changes per root call', () => {
  it("changes of methods are per root call, independent of the recording's length", () => {
    const { rootCost, rootCalls, methods } = changesOf(before, after)
    assert.deepEqual(rootCalls, { before: 10, after: 20 })
    assert.deepEqual(rootCost, { before: 450_000, after: 450_000 })
    // The total of a recursive method is that of its outermost calls.
    assert.deepEqual(
      methods.map(({ name, before: b, after: a }) => [
        name.method,
        b?.self,
        a?.self,
        b?.calls,
        a?.calls,
        a?.total,
      ]),
      [
        ['fresh', undefined, 100_000, undefined, 0.05, 100_000],
        ['old', 50_000, undefined, 1, undefined, undefined],
        ['work', 300_000, 250_000, 2, 4.05, 250_000],
        ['main', 100_000, 100_000, 1, 1, 450_000],
      ],
    )
  })

  it('increases and decreases of contexts are in separate lists', () => {
    const changes = changesOf(before, after)
    const names = contextNames(changes, before, after)
    const shown = (direction: 'more' | 'less') =>
      contextChanges(changes, names, direction, 10).shown.map((it) => [
        names(it.node).method,
        it.before,
        it.after,
      ])
    assert.deepEqual(shown('more'), [['fresh', 0, 100_000]])
    // Equal changes keep the order of the tree.
    assert.deepEqual(shown('less'), [
      ['work', 300_000, 250_000],
      ['old', 50_000, 0],
    ])
  })

  it('a profile compared with itself has no change and full overlap', () => {
    const { agreement, methods } = changesOf(before, before)
    assert.ok(Math.abs(agreement.overlap - 1) < 1e-12)
    assert.ok(Math.abs(agreement.correlation - 1) < 1e-12)
    assert.equal(agreement.hotEdges.coverage, 1)
    assert.ok(methods.every((it) => it.before?.self === it.after?.self))
    assert.match(page(before, before), /^no method changed by more than 1 % of a root call$/m)
  })

  it('samples are compared as shares of all samples', () => {
    const sampled = (notation: string): Profile => {
      const profile = profileOf(notation, { mode: 'sample', roots: [] })
      const { calls, selfNs, totalNs } = profile.merged.metrics
      const metrics = { calls: calls!, selfSamples: selfNs!, totalSamples: totalNs! }
      return { ...profile, merged: { ...profile.merged, metrics } }
    }
    const [one, other] = [
      sampled('main 1x 25ns ( work 1x 75ns )'),
      sampled('main 1x 100ns ( work 1x 100ns )'),
    ]
    const { per, methods } = changesOf(one, other)
    assert.equal(per, 'sample')
    const shares = methods.map(({ name, before: b, after: a }) => [name.method, b?.self, a?.self])
    assert.deepEqual(shares.sort(), [
      ['main', 0.25, 0.5],
      ['work', 0.75, 0.5],
    ])
    assert.match(page(one, other), /\+25\.0 +25\.0 +50\.0 +±16\.8 {2}com\.acme\.App\.main/)
  })

  it('call sites are compared if both profiles have call sites and the comparison is not switched off', () => {
    const placed = (line: number): Profile => {
      const profile = profileOf('main 1x 1ns ( work 1x 1ns )', { callSites: true })
      return {
        ...profile,
        methodNames: profile.methodNames.map((name, id) => (id === 2 ? { ...name, line } : name)),
      }
    }
    assert.equal(differenceByName(placed(1), placed(2)).count, 3)
    assert.equal(differenceByName(placed(1), placed(2), { callSites: false }).count, 2)
    const { callSites: _, ...untold } = placed(2)
    assert.equal(differenceByName(placed(1), untold).count, 2)
  })

  it('hidden classes of one run are matched with those of the other run', () => {
    const key = (name: string) => methodKey({ class: name, method: 'm', descriptor: '()V', loader: '' })
    assert.equal(key('a.B$$Lambda$14/0x0000000800c03000'), 'a.B$$Lambda.m()V')
    assert.equal(key('a.B$$Lambda/0x00007f1234abcd00'), 'a.B$$Lambda.m()V')
    assert.equal(key('a.B$$Lambda$283'), 'a.B$$Lambda.m()V')
    assert.equal(key('a.LambdaForm$MH+0x0000000800c03000'), 'a.LambdaForm$MH.m()V')
    assert.equal(key('a.B$1'), 'a.B$1.m()V')
  })

  it('if overloads call each other, their total counts only the outermost call, in any order of calls', () => {
    const profile = profileOf('main 1x 10ns ( one 1x 20ns ( two 1x 30ns ) two 1x 5ns )')
    const named = (of: (it: Profile['methodNames'][number]) => object): Profile => ({
      ...profile,
      methodNames: profile.methodNames.map((it) => ({ ...it, ...of(it) })),
    })
    const lambda = (run: number) =>
      named(({ method }) =>
        method === 'main'
          ? {}
          : { class: `App$$Lambda/0x00007f00${run}${method === 'one' ? 1 : 2}`, method: 'run' },
      )
    const loaders = named(({ method }) => (method === 'main' ? {} : { method: 'run', loader: method }))
    for (const [one, other] of [
      [lambda(1), lambda(2)],
      [loaders, loaders],
    ] as const) {
      const run = changesOf(one, other).methods.find(({ name }) => name.method === 'run')
      // 20 + 30 + 5; 30 of it is below the call by the other method.
      assert.deepEqual([run?.before?.self, run?.before?.total, run?.before?.calls], [55, 55, 3])
      assert.deepEqual(run?.after, run?.before)
    }
    assert.equal(changesOf(lambda(1), lambda(2)).methods.length, 2)
    assert.match(page(lambda(1), profileOf('main 1x 10ns')), / App\$\$Lambda\.run\n/)
    const gated = (run: number): Profile => ({
      ...lambda(run),
      mode: 'count',
      merged: {
        ...profile.merged,
        metrics: { calls: profile.merged.metrics.calls!, totalCalls: Float64Array.of(4, 2, 1, 1) },
      },
    })
    assert.deepEqual(compareProfiles(gated(1), gated(2)).methods, [])
  })

  it('a row of calls from several call sites has no line number', () => {
    const sites = callSites()
    const { callSites: _, ...untold } = sites
    for (const [one, other, told] of [
      [sites, sites, true],
      [sites, untold, false],
    ] as const) {
      const changes = changesOf(one, other)
      for (const { name } of changes.methods) assert.ok(!('line' in name) && !('bci' in name), name.method)
      const nameAt = contextNames(changes, one, other)
      const lines = Array.from({ length: changes.difference.count }, (_, node) => nameAt(node).line)
      assert.deepEqual(lines, told ? [undefined, 7, 9] : [undefined, undefined])
    }
    const less = page(sites, profileOf('main 1x 5ns'))
    assert.match(less, / gone .*com\.acme\.App\.work\n/)
    assert.doesNotMatch(less, /work:[79]/)
  })

  it('trees 100,000 contexts deep, and profiles of a million methods, can be compared', () => {
    const names = new Methods()
    names.id('App.again')
    const deep = (depth: number) => profileOfTree(chain(depth), names.names)
    assert.match(
      page(deep(100_000), deep(100_001), [], { top: 0 }),
      /App\.again[\s\S]*called by com\.acme\.App\.again < .*…/,
    )
  })
})

describe('the report of a comparison', () => {
  it('the report shows the compared profiles, their costs and the changes', () => {
    const text = page(before, after)
    assert.match(
      text,
      /^jfluid compare of com\.acme\.Main\nroot calls {7}before {8}after {7}change\n {2}rate +1\.00\/s +2\.00\/s +\+100\.0 %\n/,
    )
    assert.match(text, /^before +a\.jfluid: pid 4711, JDK 17\.0\.15, 10\.0 s from /m)
    assert.match(text, /^root +com\.acme\.App\.main; 10 calls before, 20 after$/m)
    assert.match(text, /^ {2}mean +450\.0 µs +450\.0 µs +0\.0 %$/m)
    // main 100/450 and 100/450; work 300/450 and 250/450, with 0 in its recursive call: 350/450 in common.
    assert.match(text, /^agreement +overlap 77\.8 %, 50\.0 % of 2 hot edges, correlation -?0\.\d{3}$/m)
    assert.match(text, /^3 methods changed by more than 1 % of a root call$/m)
    assert.match(
      text,
      /^ \+100\.0 µs +new +100\.0 µs {2}com\.acme\.App\.fresh\n {2}calls 0, now 0\.05; called by /m,
    )
    assert.match(
      text,
      /^ -50\.00 µs +50\.00 µs +gone {2}com\.acme\.App\.old\n {2}calls 1, now 0; called by /m,
    )
    assert.match(
      text,
      /^ -50\.00 µs +300\.0 µs +250\.0 µs {2}com\.acme\.App\.work\n {2}calls 2, now 4\.05; called by /m,
    )
    for (const line of text.split('\n')) assert.ok(line.length <= 80, line)
  })

  it('the report of a comparison has colour only if requested', () => {
    assert.doesNotMatch(page(before, after), /\x1b/)
    assert.match(page(before, after, [], { color: true }), /\x1b\[1m/)
  })

  it('the report of a comparison warns if the two recordings were made in different ways', () => {
    const target = { pid: 1, jdk: '25', vm: 'Other', mainClass: 'x.Main' }
    const other = profileOf('main 1x 1ns', {
      target,
      scheme: 'a',
      roots: ['x.Main.main'],
      truncated: true,
      followedTasks: 0,
    })
    assert.deepEqual(remarksOf(before, other), [
      'different programs: com.acme.Main before, x.Main after',
      'different roots: com.acme.App.main before, x.Main.main after',
      'different JDKs: 17.0.15 before, 25 after',
      'different JVMs: OpenJDK 64-Bit Server VM before, Other after',
      'different schemes: b before, a after',
      'only one profile follows tasks into other threads: none before, with --follow-threads after',
      'after: the session ended early',
    ])
    assert.deepEqual(remarksOf(before, before), [])
    const divided = { ...before, values: { show: [], by: 'arg0.uri', dropped: 0 } }
    assert.deepEqual(remarksOf(before, divided), [
      'different --by, so contexts and agreement are not comparable: none before, arg0.uri after',
    ])
    assert.deepEqual(remarksOf(divided, divided), [])
    const selection = { include: ['a.*'], exclude: [], jdk: false }
    assert.match(remarksOf(before, { ...before, selection })[0]!, /methods were selected differently/)
  })

  it('in a comparison, allocated bytes are counted for the allocated class, and not a second time for methods', () => {
    const allocated = (notation: string): Profile => {
      const profile = profileOf(notation, { mode: 'alloc' })
      const { calls, selfNs, totalNs } = profile.merged.metrics
      const metrics = { calls: calls!, bytes: selfNs!, totalBytes: totalNs! }
      const methodNames = profile.methodNames.map((it) =>
        it.method === 'Text' || it.method === 'List'
          ? { ...it, class: it.method, method: ALLOCATION, descriptor: '' }
          : it,
      )
      return { ...profile, methodNames, merged: { ...profile.merged, metrics } }
    }
    const texts = allocated('main 1x 100ns ( Text 1x 100ns )')
    const lists = allocated('main 1x 100ns ( List 1x 100ns )')
    assert.equal(changesOf(texts, texts).agreement.overlap, 1)
    assert.equal(changesOf(texts, lists).agreement.overlap, 0)
  })

  it('the JSON of a comparison contains no infinite number, and contains null for a method that was not called', () => {
    const changes = changesOf(before, after)
    const verdicts = judge(parseCondition('App.fresh self > +1%', METRICS.exact), changes, [])
    const text = [...changesJsonPieces(of('a', before), of('b', after), changes, verdicts, 2)].join('')
    const json = JSON.parse(text) as Record<string, unknown>
    assert.deepEqual(json.conditions, [
      {
        ...{ condition: 'App.fresh self > +1%', subject: 'com.acme.App.fresh' },
        // 0.1 % of the 450 µs of a root call.
        ...{
          before: 0,
          after: 100_000,
          doubt: 450,
          withinDoubt: false,
          belowDoubt: false,
          failed: true,
          change: null,
        },
      },
    ])
    assert.deepEqual(json.methods, [
      {
        ...{ class: 'com.acme.App', method: 'fresh', descriptor: '(I)V', before: null },
        ...{ after: { calls: 0.05, self: 100_000, total: 100_000 }, selfChange: 100_000 },
        ...{ noise: null, significant: true },
      },
      {
        ...{ class: 'com.acme.App', method: 'old', descriptor: '(I)V', after: null },
        ...{ before: { calls: 1, self: 50_000, total: 50_000 }, selfChange: -50_000 },
        ...{ noise: null, significant: true },
      },
    ])
    assert.deepEqual(
      (json.contexts as { path: string[] }[]).map((it) => it.path.join(' ')),
      [
        'com.acme.App.main com.acme.App.fresh',
        'com.acme.App.main com.acme.App.work',
        'com.acme.App.main com.acme.App.old',
      ],
    )
  })
})

describe('conditions on changes', () => {
  const verdict = (text: string) => {
    const changes = changesOf(before, after)
    return judge(parseCondition(text, METRICS.exact), changes, [])[0]!.failed
  }

  it.each([
    // work: self 300 µs, then 250: -16.7 %; calls 2, then 4.05: +102.5 %
    ['App.work self < -16%', true],
    ['App.work self < -17%', false],
    ['App.work self > +0%', false],
    ['App.work calls > +102%', true],
    ['App.work calls > +103%', false],
    ['App.work calls > +2', true],
    ['App.work calls > +2.1', false],
    ['App.work calls > 4', true],
    ['App.work calls > 4.05', false],
    ['App.work self > 249us', true],
    ['App.work self>250us', false],
    ['App.work self < 0.3ms', true],
    ['App.work self < -49us', true],
    ['App.work self < -51us', false],
    ['com.acme.App.work(I) self < -16%', true],
    // a new method has unlimited growth, a removed method has none
    ['App.fresh self > +1000%', true],
    ['App.old self > +0%', false],
    ['App.old self < -99%', true],
    ['root total > +0%', false],
    ['root total > 0.4ms', true],
    ['root self > 101us', false],
    ['root calls > +99%', true],
    ['root calls < 20', false],
  ])('the condition %s has the verdict failed=%s', (text, failed) => assert.equal(verdict(text), failed))

  it.each([
    ['', 'exact', 0, 'a method, or root, is missing'],
    ['work self > +1%', 'exact', 0, 'the class of the method is missing, as in Foo.bar'],
    ['App.work', 'exact', 8, 'self, total or calls is expected'],
    ['App.work own > +1%', 'exact', 9, 'self, total or calls is expected'],
    ['App.work self = 1', 'exact', 14, '> or < is expected'],
    ['App.work self >', 'exact', 15, 'a limit is missing, as +10% or 5ms'],
    ['App.work self > much', 'exact', 16, 'a limit is a number, as +10% or 5ms'],
    ['App.work self > 10%', 'exact', 16, 'a change has a sign, +10% or -10%'],
    ['App.work self > 5', 'exact', 16, 'a unit is missing: ns, us, µs, ms, s'],
    ['App.work self > 5kB', 'exact', 16, 'the unit is one of ns, us, µs, ms, s'],
    ['App.work self > 5ms', 'bytecodes', 16, 'the unit is one of k, M, G'],
    [
      'App.work self > 5',
      'sample',
      16,
      'a limit of samples is a percentage: +10% is a change, 10% is a share of all samples',
    ],
    ['App.work self > +1% now', 'exact', 20, 'nothing more is expected'],
    ['App.work self >> 1ms', 'exact', 15, 'a limit is a number, as +10% or 5ms'],
  ] as const)(
    'the condition "%s" for mode %s is refused with an error at position %i',
    (text, mode, at, expected) => {
      assert.throws(
        () => parseCondition(text, METRICS[mode]),
        (error) => {
          assert.ok(error instanceof BadCondition)
          assert.equal(error.message, `cannot read --fail-if: ${expected}\n  ${text}\n  ${' '.repeat(at)}^`)
          return true
        },
      )
    },
  )

  describe('a condition with a percentage', () => {
    const failed = (text: string, one: Profile, other: Profile) => {
      const changes = changesOf(one, other)
      const [verdict] = judge(parseCondition(text, changes.metric), changes, [])
      return verdict!
    }

    it("if a condition's percentage is smaller than the noise, the report says that the noise hides smaller changes", () => {
      const root = (work: number) => profileOf(`main 1x 1000000ns ( work 1x ${work}ns )`)
      // A thousandth of a root call is 1,001 ns: 80 % of 1,250 ns.
      const text = page(root(1250), root(1260), ['App.work self > +10%', 'App.work self > +90%'])
      assert.match(text.replace(/\s+/g, ' '), /\+0\.8 %; noise of ±80\.1 % hides a smaller change/)
      assert.equal(text.match(/hides/g)?.length, 1)
      assert.equal(failed('App.work self > +10%', root(1250), root(5000)).isBelowErrorBound, false)
      assert.equal(failed('App.work self > +5us', root(1250), root(1260)).isBelowErrorBound, false)
      assert.equal(failed('App.work calls > +10%', root(1250), root(1260)).isBelowErrorBound, false)
    })

    it('a change below a thousandth of a root call is noise', () => {
      const root = (work: number) => profileOf(`main 1x 1000000ns ( work 1x ${work}ns )`)
      // A root call costs 1 ms: 1,000 ns are noise, 1,002 ns are not.
      assert.equal(failed('App.work self > +10%', root(100), root(1100)).failed, false)
      assert.equal(failed('App.work self > +10%', root(100), root(1102)).failed, true)
      assert.equal(failed('App.work self < -10%', root(1100), root(100)).failed, false)
      assert.equal(failed('App.work self < -10%', root(1102), root(100)).failed, true)
      // A negative value counts as zero; a new value has unlimited growth.
      assert.equal(failed('App.work self > +10%', root(-50), root(900)).failed, false)
      assert.equal(failed('App.work self > +10%', profileOf('main 1x 1000000ns'), root(900)).failed, false)
      // Amounts, and decreases, are compared without noise.
      assert.equal(failed('App.work self > +500ns', root(100), root(1100)).failed, true)
      assert.equal(failed('App.work self > 1us', root(100), root(1100)).failed, true)
      assert.equal(failed('App.work self > -5%', root(100), root(101)).failed, true)
    })

    it('a change smaller than the error of the probe cost is noise', () => {
      // 1,000 calls per root call have an error of 0.5 ns each, for half of a probe pair, in both profiles: 1,000 ns.
      const of = (self: number, spread?: number) => {
        const profile = profileOf(`main 1x 10000ns ( work 1000x ${self}ns )`)
        const calibration = { ...profile.calibration, innerSpreadNs: spread, outerSpreadNs: spread }
        return spread === undefined ? profile : ({ ...profile, calibration } as Profile)
      }
      assert.equal(failed('App.work self > +10%', of(2000), of(3000)).failed, false)
      assert.equal(failed('App.work self > +10%', of(2000), of(3001)).failed, true)
      assert.equal(failed('App.work self > +10%', of(2000, 2), of(3001)).failed, false)
      // The root contains the other half of each call's probe pair, and half of its own pair: 2 × (500 + 0.5).
      assert.equal(failed('root self > +0%', of(0), of(0)).errorBound, 1001)
      assert.equal(failed('root total > +0%', of(0), of(0)).errorBound, 2001)
      assert.equal(failed('App.work calls > +0%', of(0), of(0)).errorBound, 0)
    })

    it('a change of samples that random variation can cause is noise', () => {
      const sampled = (work: number): Profile => {
        const profile = profileOf(`main 1x ${1000 - work}ns ( work 1x ${work}ns )`, { mode: 'sample' })
        const { calls, selfNs, totalNs } = profile.merged.metrics
        const metrics = { calls: calls!, selfSamples: selfNs!, totalSamples: totalNs! }
        return { ...profile, merged: { ...profile.merged, metrics } }
      }
      // Three standard errors for 4 and 9 of 1,000 samples: 3 × √(0.004 × 0.996 + 0.009 × 0.991) / √1000 = 0.0108
      assert.equal(failed('App.work self > +10%', sampled(4), sampled(9)).failed, false)
      assert.equal(failed('App.work self > +10%', sampled(4), sampled(19)).failed, true)
      assert.ok(Math.abs(failed('App.work self > +10%', sampled(4), sampled(9)).errorBound - 0.0108) < 0.0001)
    })

    it('a change of a number of calls or bytes is never noise', () => {
      const counted = (work: number): Profile => {
        const profile = profileOf(`main 1x 1000000ns ( work 1x ${work}ns )`, { mode: 'bytecodes' })
        const { calls, selfNs, totalNs } = profile.merged.metrics
        const metrics = { calls: calls!, selfBytecodes: selfNs!, totalBytecodes: totalNs! }
        return { ...profile, merged: { ...profile.merged, metrics } }
      }
      assert.equal(failed('App.work self > +0%', counted(10), counted(11)).failed, true)
    })

    it('the report marks a change as noise, and the condition on that change as not fulfilled', () => {
      const root = (work: number) => profileOf(`main 1x 1000000ns ( work 1x ${work}ns )`)
      assert.match(
        page(root(100), root(1100), ['App.work self > +10%'], { width: 200 }),
        /^ok +App\.work self > \+10%: com\.acme\.App\.work 100 ns, now 1\.100 µs: \+1000 %, within the noise of ±1\.001 µs; noise of ±1001 % hides a smaller change$/m,
      )
    })
  })

  it('a condition accepts constructor names with angle brackets', () => {
    const { subject, measure, operator } = parseCondition('a.B.<init>(int, String) self > +1%', METRICS.exact)
    assert.deepEqual([subject, measure, operator], ['a.B.<init>(int, String)', 'self', '>'])
  })

  it('a condition accepts units of bytes and of thousands', () => {
    assert.equal(parseCondition('A.b self > 1.5MB', METRICS.alloc).limit.value, 1.5e6)
    assert.equal(parseCondition('A.b self > 2k', METRICS.bytecodes).limit.value, 2000)
    assert.deepEqual(parseCondition('A.b total > 10%', METRICS.sample).limit, { how: 'amount', value: 0.1 })
  })

  it('a condition on a method that is in neither profile is an error', () => {
    const changes = changesOf(before, after)
    const names = [...before.methodNames, ...after.methodNames]
    assert.throws(
      () => judge(parseCondition('Other.work self > +1%', METRICS.exact), changes, names),
      (error) =>
        error instanceof NoSuchMethod &&
        error.hint === 'Use a method of the profile with a similar name: com.acme.App.work',
    )
  })

  it('a condition names a row of --by by its whole name, which may contain spaces and operators', () => {
    const named = (profile: Profile): Profile => ({
      ...profile,
      methodNames: profile.methodNames.map((name) =>
        name.method === 'work'
          ? { class: '', method: 'by=/v1.2 (a) total > 3', descriptor: '', loader: '' }
          : name,
      ),
    })
    const [one, other] = [named(before), named(after)]
    const changes = changesOf(one, other)
    const judged = (text: string) => judge(parseCondition(text, METRICS.exact), changes, one.methodNames)
    const [verdict, ...more] = judged('by=/v1.2 (a) total > 3 total < -10%')
    assert.deepEqual([verdict!.subject, verdict!.failed, more], ['by=/v1.2 (a) total > 3', true, []])
    assert.throws(
      () => judged('by=/v1.2 total > +10%'),
      (error) =>
        error instanceof NoSuchMethod &&
        error.message === "the profile contains no row 'by=/v1.2'" &&
        error.hint === 'Use a row of the profile: by=/v1.2 (a) total > 3',
    )
  })

  it('a condition names timed and sampled methods of profiles with sampled rows, and overloads are one method', () => {
    const adaptive = readFileSync(new URL('files/v1-adaptive.jfluid', import.meta.url))
    const read = decodeProfile(adaptive, 'v1-adaptive.jfluid')
    const [one, other] = withMatchingNames([read, read])
    const changes = changesOf(one!, other!)
    const judged = (text: string) =>
      judge(parseCondition(text, METRICS.exact), changes, one!.methodNames).map(({ subject }) => subject)
    const isTimed = new Map(read.methodNames.map((it) => [`${it.class}.${it.method}`, it.descriptor !== '']))
    for (const [timed, name] of [
      [true, 'fix.Sampled.serve'],
      [false, 'fix.Sampled.heavy'],
    ] as const) {
      assert.equal(isTimed.get(name), timed)
      assert.deepEqual(judged(`${name} self > +10%`), [name])
    }
    assert.throws(
      () => judged('fix.Sampled.serve(int) self > +10%'),
      (error) => error instanceof NoSuchMethod && /^Use 'fix\.Sampled\.serve', without/.test(error.hint),
    )
  })
})

describe('a method named by the user', () => {
  const name = { class: 'a.b.Outer$Inner', method: 'run', descriptor: '(ILjava/lang/String;)V', loader: '' }
  it.each([
    ['Inner.run', true],
    ['Outer.Inner.run', true],
    ['Outer$Inner.run', true],
    ['a/b/Outer$Inner.run', true],
    ['a.b.Outer.Inner.run(int, String)', true],
    ['Inner.run(ILjava/lang/String;)V', true],
    ['Inner.run(int)', false],
    ['run', false],
    ['ner.run', false],
    ['Inner.ru', false],
  ])('the name %s typed by the user selects the method: %s', (text, matches) =>
    assert.equal(methodMatcher(text)(name), matches),
  )
})
