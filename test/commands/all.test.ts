import { expect, it } from 'vitest'
import type { Jvm } from '../../src/attach/jvms.ts'
import { allMeant, checkAll } from '../../src/commands/all.ts'
import { ownPath } from '../../src/commands/group.ts'
import { checkWait } from '../../src/commands/wait-for.ts'
import type { Flags } from '../../src/options/table.ts'

const FLAGS: Flags<'record'> = {
  ...{ all: 'shop.*', root: ['A.b'], scheme: 'b', mode: 'exact', duration: 10_000 },
}

it.each([
  ['4711', {}, "cannot be combined with '4711': both"],
  [undefined, { jdwp: { host: '127.0.0.1', port: 5005 } }, 'cannot be combined with --jdwp: '],
  [undefined, { waitFor: 'x' }, 'cannot be combined with --wait-for: '],
  [undefined, { region: ['A.b'] }, 'cannot be combined with --region: '],
  [undefined, { sampler: 'jfr' }, 'cannot be combined with --sampler: '],
  [undefined, { push: 'http://a' }, 'cannot be combined with --push: '],
  [undefined, { reproducible: true }, 'cannot be combined with --reproducible: '],
  [undefined, { callSites: true }, 'cannot be combined with --call-sites: '],
  [undefined, { slow: 'p99' as const }, 'cannot be combined with --slow: '],
  [undefined, { trace: 3 }, 'cannot be combined with --trace: '],
  [undefined, { liveness: true }, 'cannot be combined with --liveness: '],
  [undefined, { root: [] }, '--all needs a root'],
  [undefined, { all: ' ' }, 'it is empty'],
  [undefined, { all: 'tcp://shop7:7071/*' }, 'and --all works only on this machine'],
])('--all is refused with process id %s and options %o', (pid, more, message) => {
  expect(() => checkAll('record', pid, { ...FLAGS, ...more })).toThrow(message)
  expect(() => checkAll('record', undefined, FLAGS)).not.toThrow()
})

const jvms = (count: number, mainClass: string): Jvm[] =>
  Array.from({ length: count }, (_, i) => ({
    ...{ pid: i + 1, user: 'shop', uid: 1, version: '25', vm: undefined, mainClass, command: mainClass },
    container: undefined,
    startedAt: 0,
    attachable: true as const,
  }))

it('--all selects JVMs by main class and accepts 1 to 16 of them', async () => {
  expect(await allMeant('Shop', jvms(16, 'com.Shop'))).toHaveLength(16)
  await expect(allMeant('Shop', jvms(17, 'com.Shop'))).rejects.toThrow("'Shop' is the main class of 17 JVMs")
  await expect(allMeant('Other', jvms(1, 'com.Shop'))).rejects.toThrow(
    "no running JVM has the main class 'Other'",
  )
})

it('--all container: without a container name is refused', async () => {
  await expect(allMeant('container:')).rejects.toThrow("'container:' is not the name of a container")
})

it('--wait-for refuses a container name', () => {
  for (const waitFor of ['container:shop', 'k8s:shop/orders-0'])
    expect(() => checkWait(undefined, { waitFor })).toThrow('it names a container')
})

it.each([
  ['p.jfluid', 'p.47.jfluid'],
  ['a.b/p', 'a.b/p.47'],
])('with --all and --out %s, the profile of JVM 47 is written to %s', (out, own) => {
  expect(ownPath(out, 47)).toBe(own)
})
