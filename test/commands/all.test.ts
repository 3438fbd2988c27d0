import { expect, it } from 'vitest'
import type { Jvm } from '../../src/attach/jvms.ts'
import { type AllFlag, allMeant, allNamed, checkAll } from '../../src/commands/all.ts'
import { ownPath } from '../../src/commands/group.ts'
import { DEFAULT_LOOK_AHEAD, type SessionFlags } from '../../src/commands/options.ts'
import { checkWait } from '../../src/commands/wait-for.ts'

const FLAGS: AllFlag & SessionFlags = {
  ...{ all: 'shop.*', root: ['A.b'], scheme: 'b', lookAhead: DEFAULT_LOOK_AHEAD },
}

it.each([
  ['4711', {}, "and '4711' is not"],
  [undefined, { jdwp: { host: '127.0.0.1', port: 5005 } }, '--jdwp is not'],
  [undefined, { waitFor: 'x' }, '--wait-for is not'],
  [undefined, { region: ['A.b'] }, '--region is not'],
  [undefined, { sampler: 'jfr' }, '--sampler is not'],
  [undefined, { stream: true }, '--stream is not'],
  [undefined, { push: 'http://a' }, '--push is not'],
  [undefined, { reproducible: true }, '--reproducible is not'],
  [undefined, { callSites: true }, '--call-sites is not'],
  [undefined, { errorBars: true }, '--error-bars is not'],
  [undefined, { proof: true }, '--proof is not'],
  [undefined, { maxOverhead: 0.05 }, '--max-overhead is not'],
  [undefined, { slow: 'p99' as const }, '--slow is not'],
  [undefined, { trace: 3 }, '--trace is not'],
  [undefined, { liveness: true }, '--liveness is not'],
  [undefined, { root: [] }, 'there is no root'],
  [undefined, { all: ' ' }, 'it is empty'],
])('%s with %o is refused', (pid, more, message) => {
  expect(() => checkAll(pid, { ...FLAGS, ...more })).toThrow(message)
  expect(() => checkAll(undefined, FLAGS)).not.toThrow()
})

const jvms = (count: number, mainClass: string): Jvm[] =>
  Array.from({ length: count }, (_, i) => ({
    ...{ pid: i + 1, user: 'shop', uid: 1, version: '25', vm: undefined, mainClass, command: mainClass },
    container: undefined,
    attachable: true as const,
  }))

it('it takes all of that name, but not too many, and not none', () => {
  expect(allNamed('Shop', jvms(16, 'com.Shop'))).toHaveLength(16)
  expect(() => allNamed('Shop', jvms(17, 'com.Shop'))).toThrow("'Shop' is the main class of 17 JVMs")
  expect(() => allNamed('Other', jvms(1, 'com.Shop'))).toThrow("no JVM has the main class 'Other'")
})

it('it takes a container as well, of which the name must be one', async () => {
  await expect(allMeant('container:')).rejects.toThrow("'container:' names no container")
})

it('a container is not waited for: its main class can be', () => {
  for (const waitFor of ['container:shop', 'k8s:shop/orders-0'])
    expect(() => checkWait(undefined, { waitFor })).toThrow('it names a container')
})

it.each([
  ['p.jfluid', 'p.47.jfluid'],
  ['a.b/p', 'a.b/p.47'],
])('beside %s, the profile of one JVM is %s', (out, own) => {
  expect(ownPath(out, 47)).toBe(own)
})
