// The documented shape of the JSON, written independently of the code that creates the JSON: every key must be present with its type, and
// no other key.

/** A type name, an array of one shape, or an object. A key that ends in `?` is optional. */
export type Shape =
  | 'string'
  | 'number'
  | 'boolean'
  | 'node'
  | readonly [Shape]
  | { readonly [key: string]: Shape }

export const NODE: Shape = {
  ...{ class: 'string', method: 'string', descriptor: 'string' },
  ...{ calls: 'number', selfNs: 'number', totalNs: 'number', measuredNs: 'number' },
  ...{ 'warmupCalls?': 'number', 'warmupSelfNs?': 'number' },
  children: ['node'],
}

const FACTS = {
  ...{ format: 'string', version: 'number', mode: 'string', scheme: 'string', roots: ['string'] },
  target: { pid: 'number', jdk: 'string', vm: 'string', mainClass: 'string' },
  ...{ startedAt: 'string', durationMs: 'number', warmupMs: 'number' },
  calibration: {
    ...{ innerNs: 'number', outerNs: 'number', clock: 'string' },
    ...{ innerSpreadNs: 'number', outerSpreadNs: 'number', 'readNs?': 'number', 'clockMHz?': 'number' },
  },
  instrumentation: {
    ...{ instrumentedMethods: 'number', calledMethods: 'number', redefinitions: 'number' },
    ...{ redefinedClasses: 'number', hotSwapMs: 'number', longestPauseMs: 'number', analysisMs: 'number' },
    skipped: [{ method: 'string', reason: 'string' }],
    ...{ gaps: 'number', healed: 'number' },
    overflows: [{ method: 'string', errors: 'number' }],
  },
  selection: { include: ['string'], exclude: ['string'], jdk: 'boolean' },
  ...{ openCalls: 'number' },
  'bareCalls?': { calls: 'number', bareNs: 'number', chargedNs: 'number', low: 'number', high: 'number' },
  detach: {
    ...{ ms: 'number', proofMs: 'number', restoredClasses: 'number', refusedClasses: 'number' },
    pauseMs: 'number',
    code: {
      ...{ checkedClasses: 'number', checkedMethods: 'number', originalClasses: 'number' },
      ...{ different: ['string'], unchecked: 'string' },
    },
    ...{ left: ['string'], unseen: ['string'], lambdaClasses: 'number' },
  },
  ...{ truncated: 'boolean', warnings: ['string'], events: { count: 'number', waitMs: 'number' } },
  kept: { heapBytes: 'number', outsideBytes: 'number' },
  rootCalls: {
    ...{ unit: 'string', count: 'number', total: 'number', min: 'number', mean: 'number', max: 'number' },
    percentiles: { 50: 'number', 90: 'number', 95: 'number', 99: 'number', 99.9: 'number' },
  },
  course: {
    firstSecond: 'number',
    seconds: [
      {
        ...{ calls: 'number', mean: 'number', p50: 'number', p95: 'number', max: 'number' },
        ...{ events: 'number', waitNs: 'number', pauses: 'number', pauseNs: 'number' },
      },
    ],
  },
  ...{ followThreads: 'boolean', followedTasks: 'number' },
  methods: [
    {
      ...{ class: 'string', loader: 'string', method: 'string', descriptor: 'string' },
      ...{ calls: 'number', selfNs: 'number', totalNs: 'number' },
    },
  ],
} satisfies Shape

export const PROFILE: Shape = {
  ...FACTS,
  threads: [{ id: 'number', name: 'string', roots: ['node'] }],
  merged: ['node'],
}

/** Shape of `report --json`: the same facts, and the important part of the tree. */
export const REPORT: Shape = { ...FACTS, merged: ['node'] }

/** Returns the differences between a value and a shape as paths, at most twenty. */
export function shapeProblems(value: unknown, shape: Shape): string[] {
  const problems: string[] = []
  visit(value, shape, '$', problems)
  return problems.slice(0, 20)
}

function visit(value: unknown, shape: Shape, path: string, problems: string[]): void {
  if (problems.length > 20) return
  if (shape === 'node') {
    visit(value, NODE, path, problems)
    return
  }
  if (typeof shape === 'string') {
    // NaN and infinities are null in JSON, which is reported here.
    if (typeof value !== shape) problems.push(`${path} is ${JSON.stringify(value)}, not a ${shape}`)
    return
  }
  if (isArray(shape)) {
    if (!Array.isArray(value)) problems.push(`${path} is no array`)
    else for (const [i, item] of value.entries()) visit(item, shape[0], `${path}[${i}]`, problems)
    return
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${path} is no object`)
    return
  }
  const found = new Map(Object.entries(value))
  for (const [key, inner] of Object.entries(shape)) {
    const name = key.replace('?', '')
    if (found.has(name)) visit(found.get(name), inner, `${path}.${name}`, problems)
    else if (!key.endsWith('?')) problems.push(`${path}.${name} is missing`)
    found.delete(name)
  }
  for (const key of found.keys()) problems.push(`${path}.${key} is not documented`)
}

function isArray(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape)
}
