// Probes of mode `bytecodes`: a method counts its basic blocks in a local variable.

import type { Probes } from '../probes.ts'

export const bytecodes: Probes = {
  recipe: ({ blocks, jdk }) => ({ tells: 'bytecodes', blocks: blocks?.analysis ?? 'default', jdk }),
  facts: ({ blocks }) => ({ blocks: blocks?.name ?? 'default' }),
}
