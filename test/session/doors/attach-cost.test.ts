import { describe, expect, it } from 'vitest'
import type { PerfFacts } from '../../../src/attach/hsperfdata.ts'
import { predictedPauseMs } from '../../../src/session/adaptive/pause.ts'
import {
  type AttachCost,
  attachCostText,
  metaspaceLeftOf,
  pauseBounds,
} from '../../../src/session/doors/attach-cost.ts'

const MIB = 1 << 20
const perf = (facts: Partial<PerfFacts>): PerfFacts => ({ complete: true, ...facts })

describe('the predicted pause of a redefinition', () => {
  it('the lower bound assumes that no compiled method exists, and the upper bound assumes one compiled method per compilation', () => {
    const size = { loadedClasses: 20_000, unloadedClasses: 2_000, compilations: 11_000 }
    const of = (compiledMethods: number) =>
      Math.ceil(predictedPauseMs({ loadedClasses: 18_000, compiledMethods }, 2, 1.5) ?? 0)
    expect(pauseBounds(perf(size), 1.5)).toEqual({ min: of(0), max: of(11_000) })
    expect(of(11_000)).toBeGreaterThan(2 * of(0))
  })

  it('the predicted pause has no upper bound if the number of compilations is unknown', () => {
    expect(pauseBounds(perf({ loadedClasses: 500 }), 1)).toEqual({ min: 1, max: null })
    expect(pauseBounds(perf({ compilations: 500 }), 1)).toBeUndefined()
  })
})

it('the available metaspace is known if an option of the JVM limits metaspace', () => {
  const committed = { metaspaceCommitted: 100 * MIB }
  expect(metaspaceLeftOf(perf({ ...committed, vmArguments: '-XX:MaxMetaspaceSize=104m' }))).toBe(4 * MIB)
  expect(metaspaceLeftOf(perf(committed))).toBeUndefined()
  expect(metaspaceLeftOf(perf({ vmArguments: '-XX:MaxMetaspaceSize=104m' }))).toBeUndefined()
})

const FREE: AttachCost = {
  pauseMs: { min: 3, max: 12 },
  loadedClasses: 480,
  discardsCode: false,
  metaspaceLeftBytes: undefined,
  lacksMetaspace: false,
  lacksProcessors: false,
}

it.each<[string, Partial<AttachCost>]>([
  ['yes, 3-12 ms', {}],
  ['yes, 3 ms', { pauseMs: { min: 3, max: 3 } }],
  ['yes, 3 ms or more', { pauseMs: { min: 3, max: null } }],
  ['yes', { pauseMs: undefined }],
  ['yes, 3-12 ms, discards code', { discardsCode: true }],
  ['samples only: busy', { discardsCode: true, lacksProcessors: true }],
  ['no: no metaspace left', { lacksMetaspace: true, discardsCode: true, lacksProcessors: true }],
])('ps describes the cost of an attach as "%s"', (text, change) => {
  expect(attachCostText({ ...FREE, ...change })).toBe(text)
})
