import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
    // A JVM start and an attach fit in a second; 30 s is the liveness ceiling, not a figure.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // One file at a time: a live test is a JVM, a client and its recorder already. On two cores a second
    // file beside it makes the target wait for its client, and what it waited for too long is a gap.
    fileParallelism: false,
  },
})
