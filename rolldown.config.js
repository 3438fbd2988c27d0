// The client in few files: Node takes over half a millisecond to find and read a module, and a recording needs 330 of ours.
// tsc checks the types and writes the declarations. Packages that jfluid depends on are not built in.

import { defineConfig } from 'rolldown'

export default defineConfig({
  input: {
    cli: 'src/cli.ts',
    index: 'src/index.ts',
    'jdwp-client/index': 'src/jdwp-client/index.ts',
    'session/recorder/recorder-worker': 'src/session/recorder/recorder-worker.ts',
  },
  platform: 'node',
  external: /^[^./]/,
  output: {
    dir: 'dist',
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  },
})
