// The client in few files: Node takes half a millisecond and more to find and read a module, and a recording needs 330 of ours.
// tsc checks the types and writes the declarations. Packages that jfluid depends on are not built in.

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'rolldown'

/**
 * Where what is read at once begins: before a command is known; by `ps`; before the target is asked, by `record` and `attach` alike; and in
 * the recorder's thread. Modules that these need are cut by which of the four do, and not, as all others, by each command that does: that
 * would be 60 files until the target is asked, while a user waits.
 */
const STAGES = new Map([
  ['cli', file('src/cli.ts')],
  ['list', file('src/commands/ps.ts')],
  ['ask', file('src/commands/record.ts')],
  ['recorder', file('src/session/recorder/recorder-worker.ts')],
])

/** By module: names of the stages that read it. */
const readBy = new Map()

const stages = {
  name: 'stages',
  buildEnd(error) {
    if (error) return
    readBy.clear()
    const begins = [...STAGES.values()]
    for (const [stage, begin] of STAGES) {
      const seen = new Set([begin])
      for (const id of seen) {
        const info = this.getModuleInfo(id)
        if (id === begin && info === null) throw new Error(`${id} is no module: correct STAGES`)
        if (info === null || info.isExternal) continue
        readBy.set(id, [...(readBy.get(id) ?? []), stage])
        for (const next of info.importedIds) {
          // It would lie outside of the file of those that need it, and be read after them.
          if (begins.includes(next)) throw new Error(`${id} imports ${next}, which is the beginning of a stage`)
          seen.add(next)
        }
      }
    }
  },
}

/**
 * The file that a module lies in; null: as the bundler cuts it.
 *
 * The beginnings stay outside: `cli.ts` ends with an await, and a command's file that imports one with that in it would wait for itself.
 */
function stageOf(id) {
  const all = readBy.get(id) ?? []
  // What is read before a command is known is there for `ps`, too.
  const stages = all.includes('cli') ? all.filter((it) => it !== 'list') : all
  const isForTheRecorderAlone = stages.join() === 'recorder'
  return stages.length === 0 || isForTheRecorderAlone || [...STAGES.values()].includes(id) ? null : stages.join('+')
}

function file(path) {
  return fileURLToPath(new URL(path, import.meta.url))
}

export default defineConfig({
  plugins: [stages],
  input: {
    cli: 'src/cli.ts',
    index: 'src/index.ts',
    'jdwp-client/index': 'src/jdwp-client/index.ts',
    'session/recorder/recorder-worker': 'src/session/recorder/recorder-worker.ts',
  },
  platform: 'node',
  external: /^[^./]/,
  // What a module imports is read by all that read the module: files of stages import each other in one direction, so the order in which
  // modules run needs no more care than that none relies on another's having run.
  preserveEntrySignatures: 'allow-extension',
  output: {
    dir: 'dist',
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: stageOf, debugName: 'stages' }],
    },
  },
})
