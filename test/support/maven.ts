// Artifacts of Maven Central that tests profile or compile, by coordinates and checksum.
//
// `mvn` downloads them with the user's settings and mirrors. A checked copy is kept (cache.ts).

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDirectory, cachedFile } from './cache.ts'
import { temporaryDirectory } from './java-process.ts'
import type { Jdk } from './jdks.ts'

export interface Artifact {
  /** `group:artifact:version[:packaging[:classifier]]`, without dependencies. */
  readonly coordinates: string
  /** SHA-256 of the file, in hexadecimal. */
  readonly sha256: string
}

/** 326 sources that need only the JDK: 70,000 lines, with generics and anonymous classes. */
export const COLLECTIONS_SOURCES: Artifact = {
  coordinates: 'org.apache.commons:commons-collections4:4.4:jar:sources',
  sha256: '93b4ff13ee810830a247dfa83bf5b73c401a591af4c11f3efb9b9da581e70452',
}

/**
 * Returns the path of the artifact's file in the cache. Downloads the file if it is missing or has another checksum.
 *
 * @param cache  directory for the file; created if missing
 * @throws Error if mvn is missing or does not find the artifact, or if the file has another checksum
 */
export async function mavenArtifact(
  { coordinates, sha256 }: Artifact,
  cache = cacheDirectory(),
): Promise<string> {
  const [, name, version, packaging = 'jar', classifier] = coordinates.split(':')
  const suffix = classifier === undefined ? '' : `-${classifier}`
  const fetch = async (aside: string): Promise<string> => {
    const common = ['-q', '-B', `-Dartifact=${coordinates}`]
    await mvn([...common, '-Dtransitive=false', 'dependency:get'], aside)
    await mvn(
      [...common, `-DoutputDirectory=${aside}`, '-Dmdep.useBaseVersion=true', 'dependency:copy'],
      aside,
    )
    return join(aside, `${name}-${version}${suffix}.${packaging}`)
  }
  const kept = `${name}-${version}${suffix}-${sha256.slice(0, 16)}.${packaging}`
  return await cachedFile({ what: coordinates, name: kept, sha256, fetch }, cache)
}

/** Returns the contents of an artifact, in a directory that is removed with the test file. */
export async function unpackedArtifact(jdk: Jdk, artifact: Artifact): Promise<string> {
  const file = await mavenArtifact(artifact)
  const dir = temporaryDirectory('jfluid-artifact-')
  await promisify(execFile)(join(jdk.tools, 'jar'), ['xf', file], { cwd: dir })
  return dir
}

async function mvn(args: readonly string[], cwd: string): Promise<void> {
  try {
    await promisify(execFile)('mvn', args, { cwd, maxBuffer: 16 << 20 })
  } catch (problem) {
    const { code, stdout, stderr } = problem as { code?: unknown; stdout?: string; stderr?: string }
    if (code === 'ENOENT') {
      throw new Error('mvn is not on PATH: the full tests fetch libraries with it; install Apache Maven')
    }
    throw new Error(`mvn ${args.join(' ')} failed:\n${stdout ?? ''}${stderr ?? ''}`)
  }
}
