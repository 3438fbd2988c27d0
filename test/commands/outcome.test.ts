import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { describeDetach } from '../../src/commands/finish.ts'
import { badEnd, missing, NothingSampled, outcome } from '../../src/commands/outcome.ts'
import type { DetachFacts } from '../../src/profile/detach-facts.ts'
import { AbstractOrNativeRoot, type RootProblem, RootRefused } from '../../src/reveal/errors.ts'
import type { Ending } from '../../src/session/ending.ts'

const GONE: Ending = { how: 'target ended' }
const DETACHED: Ending = { how: 'detached' }
const silent = (exitCode = 75): Ending => ({ how: 'by itself', reason: 'we were silent', exitCode })

interface Facts {
  gaps?: number
  ending?: Ending
  armed?: boolean
  problem?: RootProblem | null
  near?: string[]
  idle?: boolean
  rootsNeverCalled?: string[]
  wasAnyRootCalled?: boolean
  timesRegions?: boolean
  detachFacts?: DetachFacts
}

const session = ({
  ending = DETACHED,
  armed = false,
  problem = null,
  near = [],
  idle = false,
  rootsNeverCalled = [],
  wasAnyRootCalled = false,
  timesRegions = false,
  gaps = 0,
  detachFacts,
}: Facts = {}) => ({
  pid: 4711,
  rootsNeverCalled,
  wasAnyRootCalled,
  timesRegions,
  gaps,
  detachFacts: detachFacts ?? null,
  ending,
  rootReport: () => [
    {
      text: 'A.b',
      option: 'root' as const,
      methods: armed ? 0 : 1,
      classes: [],
      armed,
      problem,
      unusable: [],
      near,
    },
  ],
  filterReport: () => [{ option: 'include' as const, text: 'com.**', classes: idle ? 0 : 1 }],
})

const status = (facts: Facts, signal: NodeJS.Signals | null = null): number =>
  outcome(session(facts), signal, 'p.jfluid')?.exitCode ?? 0

describe('the exit status of a recording', () => {
  const everything: Facts = { armed: true, idle: true }

  it('the exit status of a recording is 0 if the recording reached its end or was ended by Ctrl-C', () => {
    assert.deepEqual([status({}), status({}, 'SIGINT')], [0, 0])
  })

  it('the exit status of a recording has this priority: end of the JVM or session, signal, root not found, pattern without a class', () => {
    assert.equal(status({ ...everything, ending: GONE }, 'SIGTERM'), 74)
    assert.equal(status({ ...everything, ending: silent() }, 'SIGTERM'), 75)
    assert.equal(status(everything, 'SIGTERM'), 143)
    assert.equal(status(everything, 'SIGHUP'), 129)
    assert.equal(status(everything), 67)
    assert.equal(status(everything, 'SIGINT'), 67)
    assert.equal(status({ idle: true }), 80)
  })

  it('with jfluid run, the end of the JVM is no error, but an early end of the session and kept code are errors', () => {
    const exit = (facts: Facts): number | undefined => badEnd(session(facts), null)?.exitCode
    assert.equal(exit({ ...everything, ending: GONE }), undefined)
    assert.equal(exit({ ending: silent() }), 75)
    assert.equal(exit({ ending: { how: 'target silent' } }), 84)
  })

  it('the exit status of a recording is 79 when the class of a root was loaded but has no usable method', () => {
    const problem = new AbstractOrNativeRoot('A.b', 'abstract', ['a.C.b'])
    assert.equal(outcome(session({ ...everything, problem }), null, null), problem)
    assert.equal(status({ ...everything, problem }), 79)
  })

  it('the exit status of a recording is 69 when an existing root could not be instrumented', () => {
    const problem = new RootRefused('A.b', new Map([['A.b()', 'its class was refused']]))
    assert.equal(status({ ...everything, problem }), 69)
  })

  it('the exit status of a recording is 75 when a root could not be instrumented because the JVM lacks threads or memory', () => {
    const why = 'its class was refused: the JVM could not start a thread to query its class loader'
    const problem = new RootRefused('A.b', new Map([['A.b()', why]]))
    assert.equal(status({ ...everything, problem }), 75)
    assert.match(problem.hint, /^Raise the limits of the JVM \(.*, or try again /)
  })

  it('the exit status of a recording is 83 when no root was called and all root classes were loaded', () => {
    assert.equal(status({ rootsNeverCalled: ['A.b'], idle: true }), 83)
    assert.equal(status({ ...everything, rootsNeverCalled: ['A.b'] }), 67)
    const problem = outcome(session({ rootsNeverCalled: ['A.b', 'A.c'] }), null, null)
    assert.equal(problem?.message, 'no root was called: A.b, A.c')
    assert.equal(problem?.hint, 'Name a method that the program calls; jfluid why 4711 lists candidates.')
    const missed = outcome(session({ rootsNeverCalled: ['A.b'], gaps: 2 }), null, null)
    assert.equal(missed?.message, 'no call of a root was recorded (gaps: 2): A.b')
    assert.equal(missed?.hint, 'Record again: the root may have been called before it had probes.')
    const ended = missing(session({ rootsNeverCalled: ['A.b'], ending: GONE }))
    assert.match(ended?.hint ?? '', /^Name a method that the program calls; jfluid run --mode sample /)
  })

  it('the exit status of a recording is 0 when one of several roots was called, and 83 when no region was executed', () => {
    assert.equal(outcome(session({ rootsNeverCalled: ['A.b'], wasAnyRootCalled: true }), null, null), null)
    const region = outcome(session({ rootsNeverCalled: ['A.b:3-4'], timesRegions: true }), null, null)
    assert.deepEqual([region?.exitCode, region?.message], [83, 'no region was executed: A.b:3-4'])
  })

  it('the exit status of a recording is 84 when the original code of a class could not be restored', () => {
    const code = { checkedClasses: 3, checkedMethods: 9, originalClasses: 3, different: [], unchecked: '' }
    const facts = {
      ms: 1,
      proofMs: 2,
      pauseMs: 1,
      restoredClasses: 2,
      left: [],
      unseen: [],
      lambdaClasses: 0,
    }
    const left = (refusedClasses: number, originalClasses = 3) => ({
      detachFacts: { ...facts, refusedClasses, code: { ...code, originalClasses } },
    })
    assert.equal(status({ ...everything, ...left(1) }), 84)
    assert.equal(status(left(0, 2)), 84)
    assert.equal(status(left(0)), 0)
    assert.equal(status({ ending: { how: 'target silent' } }), 84)
    assert.equal(
      outcome(session(left(1)), null, null)?.message,
      '1 class did not get the original code back in JVM 4711',
    )
  })

  it('if an error stopped the recorder, the exit status of the recording is the exit status of the error', () => {
    assert.equal(status({ ending: silent(70) }), 70)
  })

  it('the message about a recording whose JVM ended states the end of the JVM and the path of the profile', () => {
    const problem = outcome(session({ ending: GONE }), null, 'p.jfluid')
    assert.equal(problem?.message, 'JVM 4711 ended during the recording')
    assert.equal(
      problem?.hint,
      'Read the profile, which has everything that was recorded until then: jfluid report p.jfluid',
    )
    assert.match(outcome(session({ ending: GONE }), null, null)?.hint ?? '', /^Use --out to keep/)
  })

  it('a recording whose root was not found ends with a hint that lists similar names', () => {
    const hint = (near: string[]) => outcome(session({ armed: true, near }), null, null)?.hint
    assert.equal(hint(['a.A.b', 'a.C.b']), "Try --root 'a.A.b'; also close: a.C.b")
    assert.match(hint([]) ?? '', /^Check the name/)
  })
})

describe('the last message about a target whose recording has no profile', () => {
  it('if a recording has no profile, the last message states whether the target has exited, has ended the session or does not answer', () => {
    const said = (ending: Ending) => describeDetach({ pid: 4711, ending, detachFacts: null }, null)
    assert.equal(said(GONE), 'JVM 4711 has ended')
    assert.equal(said(silent()), 'the session with JVM 4711 had ended before')
    assert.equal(said({ how: 'target silent' }), 'detached from JVM 4711 without an answer')
  })
})

describe('reports of a sampling recording without samples', () => {
  const sampling = { every: 1e7, unit: 'ns', by: 'stacks', samples: 0 } as const

  it.each([
    [[], 0, 12, 'no thread was found running Java code in 12 thread dumps'],
    [['a.B.c'], 90, 1, 'no thread was found inside a.B.c in 1 thread dump'],
    [['a.B.c'], 0, undefined, 'no thread was found running Java code'],
  ])(
    'a recording without samples is reported for roots %j if %i samples were taken outside the roots',
    (roots, outside, dumps, message) => {
      const problem = new NothingSampled(42, {
        target: { jdk: '25.0.3' },
        roots,
        sampling: { ...sampling, outside, ...(dumps !== undefined && { dumps }) },
      })
      assert.equal(problem.message, message)
      assert.equal(problem.exitCode, 83)
      // jfluid does not look up roots before sampling, so the hint suggests jfluid doctor if roots were given.
      assert.equal(problem.hint.includes('jfluid doctor 42'), roots.length > 0)
    },
  )

  it.each([
    ['17.0.15', 3, false],
    ['21.0.4', 3, true],
    ['23', 3, true],
    ['23', undefined, false],
    ['24.0.1', 3, false],
  ])(
    'with JDK %s and %s thread dumps, the error suggests the JFR sampler for virtual threads: %s',
    (jdk, dumps, isTold) => {
      const problem = new NothingSampled(42, {
        target: { jdk },
        roots: ['a.B.c'],
        sampling: { ...sampling, outside: 9, ...(dumps !== undefined && { dumps }) },
      })
      assert.equal(problem.hint.includes('For virtual threads use --sampler jfr'), isTold)
    },
  )
})
