// Probes of mode `bytecodes`: each basic block adds its number of instructions to a local variable of the method.

import type { Probes } from '../probes.ts'

export const bytecodes: Probes = {
  recipe: ({ blocks, jdk }) => ({ tells: 'bytecodes', blocks: blocks?.analysis ?? 'default', jdk }),
  facts: ({ blocks }) => ({ blocks: blocks?.name ?? 'default' }),
}
