import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, it } from 'vitest'
import { temporaryDirectory } from './java-process.ts'
import { mavenArtifact } from './maven.ts'

const PATH = process.env.PATH
afterEach(() => {
  process.env.PATH = PATH
})

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const COORDINATES = 'org.example:thing:1.0:jar:sources'

/** Creates a fake mvn whose `dependency:copy` writes this text, and which records its calls. */
function fakeMaven(text: string): { runs: () => number } {
  const dir = temporaryDirectory('jfluid-mvn-')
  const log = join(dir, 'log')
  writeFileSync(log, '')
  writeFileSync(
    join(dir, 'mvn'),
    `#!/bin/sh
for a; do case "$a" in
  -DoutputDirectory=*) printf '%s' '${text}' > "\${a#*=}/thing-1.0-sources.jar"; echo run >> '${log}';;
esac; done
`,
  )
  chmodSync(join(dir, 'mvn'), 0o755)
  process.env.PATH = `${dir}${delimiter}${PATH}`
  return { runs: () => readFileSync(log, 'utf8').split('\n').length - 1 }
}

it('an artifact is downloaded once and then read from the cache', async () => {
  const maven = fakeMaven('contents')
  const cache = join(temporaryDirectory(), 'not', 'there', 'yet')
  const artifact = { coordinates: COORDINATES, sha256: sha256('contents') }
  const file = await mavenArtifact(artifact, cache)
  assert.equal(readFileSync(file, 'utf8'), 'contents')
  assert.equal(await mavenArtifact(artifact, cache), file)
  assert.equal(maven.runs(), 1)
  writeFileSync(file, 'damaged')
  assert.equal(readFileSync(await mavenArtifact(artifact, cache), 'utf8'), 'contents')
  assert.equal(maven.runs(), 2)
})

it('two concurrent downloads return the same artifact and leave no temporary file', async () => {
  fakeMaven('contents')
  const cache = temporaryDirectory()
  const artifact = { coordinates: COORDINATES, sha256: sha256('contents') }
  const [one, two] = await Promise.all([mavenArtifact(artifact, cache), mavenArtifact(artifact, cache)])
  assert.equal(one, two)
  assert.equal(readdirSync(cache).length, 1)
})

it('an artifact with a wrong checksum is refused, and no file is left', async () => {
  fakeMaven('something else')
  const cache = temporaryDirectory()
  const artifact = { coordinates: COORDINATES, sha256: sha256('contents') }
  await assert.rejects(
    mavenArtifact(artifact, cache),
    /thing:1\.0:jar:sources has SHA-256 [0-9a-f]{64}, not /,
  )
  assert.deepEqual(readdirSync(cache), [])
})

it('if the command mvn is missing, the error names the software to install', async () => {
  process.env.PATH = join(temporaryDirectory(), 'empty')
  mkdirSync(process.env.PATH)
  const artifact = { coordinates: COORDINATES, sha256: sha256('contents') }
  await assert.rejects(mavenArtifact(artifact, temporaryDirectory()), /mvn is not on PATH/)
})
