// The NetBeans profiler reads snapshots written by jfluid.

import assert from 'node:assert/strict'
import { delimiter, join } from 'node:path'
import { beforeAll, describe, it } from 'vitest'
import { hotMethods } from '../../src/cct/snapshot.ts'
import { nameOf } from '../../src/profile/profile.ts'
import { fullName } from '../../src/profile/text.ts'
import { chain, profileOf, profileOfTree } from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { mavenArtifact } from '../support/maven.ts'
import { OF_EVERY_METRIC, ran, recursive, written } from './tools.ts'

describe('the NetBeans profiler', () => {
  /** The published part of the profiler; VisualVM has the same code under other names. */
  const PROFILER = {
    coordinates: 'org.netbeans.modules:org-netbeans-lib-profiler:RELEASE220',
    sha256: '338939e54e7564f3c179e68e6b75a2ccf8100ae5863f2c8e7b33374af8bc9089',
  }

  let read: (...files: string[]) => Promise<string>

  beforeAll(async () => {
    const jar = await mavenArtifact(PROFILER)
    const classes = temporaryDirectory()
    const source = join(import.meta.dirname, 'nps/ReadSnapshot.java')
    await ran(newest.javac, '-cp', jar, '-d', classes, source)
    const path = [classes, jar].join(delimiter)
    read = async (...files) => (await ran(newest.java, '-cp', path, 'ReadSnapshot', ...files)).stdout
  }, 600_000)

  it('the NetBeans profiler reads the tree, and its sums per method equal ours', async () => {
    const profile = recursive()
    // Its microseconds are equal to our nanoseconds: no rounding.
    const scaled = {
      ...profile.merged.metrics,
      selfNs: profile.merged.metrics.selfNs!.map((ns) => ns * 1000),
    }
    const tree = { ...profile.merged, metrics: scaled }
    const said = await read(
      await written({ ...profile, merged: tree, threads: [{ id: 7, name: 'worker', tree }] }, 'nps'),
    )
    const hot = hotMethods(profile.merged).map(({ method, calls, self, total }) => {
      const name = nameOf(profile.methodNames, method)
      return `flat ${calls} ${total} ${self} ${name.class}\t${name.method}\t${name.descriptor}`
    })
    const lines = said.split('\n')
    assert.deepEqual(lines.filter((line) => line.startsWith('flat')).sort(), hot.sort())
    const contexts = lines.filter((line) => line.startsWith('tree'))
    const depth = new Int32Array(tree.count)
    const { calls, totalNs } = profile.merged.metrics
    assert.deepEqual(
      contexts,
      Array.from({ length: tree.count }, (_, node) => {
        const above = tree.parent[node]!
        depth[node] = above < 0 ? 1 : depth[above]! + 1
        const name = fullName(nameOf(profile.methodNames, tree.method[node]!))
        return `tree ${depth[node]} ${calls![node]} ${totalNs![node]} ${name}`
      }),
    )
  })

  it('the NetBeans profiler reads every kind of profile, and stacks of maximum depth', async () => {
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    const kinds = [
      ...OF_EVERY_METRIC.filter(([name]) => !/^(bytecodes|samples|bytes)$/.test(name)).map(([, make]) =>
        make(),
      ),
      deep,
      profileOf(''),
    ]
    const files = await Promise.all(kinds.map((profile) => written(profile, 'nps')))
    const said = await read(...files)
    assert.equal(said.match(/^file /gm)?.length, kinds.length)
    assert.match(said, /^tree 1000 1 2 com\.acme\.App\.deep$/m)
  })
})
