// Writes jfluid-image-linux-<processor>.tar: a container image for `docker load` and `podman load`.
//
//   npm run image [-- <folder for the file>]
//
// The image has no base image, and no container engine is needed. It contains the folder of the bundle as /opt/jfluid, and from this
// machine the C and C++ libraries that Node.js needs, sh (for the launcher), cat and tar (to copy profiles out of the container), sleep
// (for a container that waits for `kubectl exec`), and mkfifo (for JVMs older than JDK 16).
//
// The format of the file is that of `docker save`, which all engines read: manifest.json, the configuration, one layer. The layer is
// compressed and not the file, since Podman 4 refuses to load a compressed file.

import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  archive,
  asCommand,
  MODIFIED,
  needsOf,
  PLATFORM,
  run,
  setModes,
  sizeOf,
  stage,
  withFolder,
} from './bundle.mjs'

const HOME = '/opt/jfluid'
const TOOLS = ['sh', 'cat', 'sleep', 'tar', 'mkfifo']
/** Names of processors in image configurations. */
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }

/** @param {string} name  a command on the PATH */
const placeOf = (name) => run('sh', ['-c', 'command -v "$1"', 'sh', name]).trim()

/**
 * Makes the root directory of the image.
 *
 * @param {string} folder  created
 */
function stageRoot(folder) {
  for (const it of ['bin', 'etc', 'opt', 'tmp', 'proc', 'sys', 'dev', 'run'])
    mkdirSync(join(folder, it), { recursive: true })
  stage(join(folder, HOME))
  rmSync(join(folder, HOME, 'bin/jfluid-ci')) // needs more tools than the image has
  const tools = TOOLS.map(placeOf)
  for (const tool of tools) put(folder, tool, join('/bin', tool.slice(tool.lastIndexOf('/') + 1)))
  const needs = [process.execPath, ...tools].map(needsOf)
  for (const file of new Set(needs.flatMap(({ loader, libraries }) => [loader, ...libraries])))
    put(folder, file, file)
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/tmp:/bin/sh\n')
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\n')
  setModes(folder)
  chmodSync(join(folder, 'tmp'), 0o1777)
}

/** Copies a file of this machine; a link becomes a file. */
function put(folder, from, to) {
  const file = join(folder, to)
  mkdirSync(dirname(file), { recursive: true })
  copyFileSync(realpathSync(from), file)
}

const digest = (file) => createHash('sha256').update(readFileSync(file)).digest('hex')

/**
 * @param {string} out  folder
 * @returns {string} path of the archive
 */
export function image(out) {
  const { version, description, license } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  const file = join(out, `jfluid-image-${PLATFORM}.tar`)
  withFolder((folder) => {
    stageRoot(join(folder, 'root'))
    const layer = join(folder, 'layer.tar')
    archive(join(folder, 'root'), ['.'], layer)
    const id = digest(layer)
    run('gzip', ['-n', layer])
    const created = new Date(MODIFIED * 1000).toISOString()
    const config = JSON.stringify({
      architecture: ARCHITECTURES[process.arch] ?? process.arch,
      os: 'linux',
      created,
      config: {
        Entrypoint: [`${HOME}/bin/jfluid`],
        Cmd: ['--help'],
        Env: [`PATH=${HOME}/bin:/bin`, 'HOME=/tmp', 'LANG=C.UTF-8'],
        WorkingDir: '/tmp',
        Labels: {
          'org.opencontainers.image.title': 'jfluid',
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.description': description,
          'org.opencontainers.image.licenses': license,
        },
      },
      rootfs: { type: 'layers', diff_ids: [`sha256:${id}`] },
      history: [{ created, created_by: 'npm run image' }],
    })
    const name = `${createHash('sha256').update(config).digest('hex')}.json`
    writeFileSync(join(folder, name), config)
    const RepoTags = [`localhost/jfluid:${version}`, 'localhost/jfluid:latest']
    writeFileSync(
      join(folder, 'manifest.json'),
      JSON.stringify([{ Config: name, RepoTags, Layers: ['layer.tar.gz'] }]),
    )
    setModes(folder)
    archive(folder, ['manifest.json', name, 'layer.tar.gz'], file)
  })
  return file
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  asCommand(() => console.log(sizeOf(image(process.argv[2] ?? '.'))))
}
