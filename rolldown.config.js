// The client in few files: Node takes half a millisecond and more to find and read a module, and a recording needs 330 of ours.
// tsc checks the types and writes the declarations. Packages that jfluid depends on are not built in.

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'rolldown'

/**
 * Where what is read together begins: before a command is known, before the target is asked, and in the recorder's thread. What
 * they need is cut by who needs it, not by which other command does as well: that would be 60 files, while a user waits.
 */
const STAGES = ['src/cli.ts', 'src/commands/record.ts', 'src/session/recorder/recorder-worker.ts'].map(file)
/** What the recorder's thread needs alone lies in its own file. */
const BEFORE_THE_TARGET = 0b011

/** By module: a bit for each stage that reads it at once. */
const readBy = new Map()

const stages = {
  name: 'stages',
  buildEnd() {
    for (const [bit, begin] of STAGES.entries()) {
      const seen = new Set([begin])
      for (const id of seen) {
        readBy.set(id, (readBy.get(id) ?? 0) | (1 << bit))
        for (const next of this.getModuleInfo(id)?.importedIds ?? []) seen.add(next)
      }
    }
  },
}

/** Null: as the bundler cuts it. A stage's own module stays outside, as others may wait for what it awaits. */
function stageOf(id) {
  const by = readBy.get(id) ?? 0
  return (by & BEFORE_THE_TARGET) === 0 || STAGES.includes(id) ? null : `stage-${by.toString(2)}`
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
