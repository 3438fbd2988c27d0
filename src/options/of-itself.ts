// Options that say where other options come from.

import { option } from './option.ts'

const CONFIGURED = [
  ...(['ps', 'doctor', 'roots', 'attach', 'record', 'run', 'detach'] as const),
  ...(['gate', 'compare', 'report', 'export', 'push'] as const),
] as const

export const OF_ITSELF = [
  option({
    name: '--show-config',
    group: 'Options',
    help: 'print which options are in force, and from where, and do nothing else',
    commands: CONFIGURED,
  }),
  option({
    name: '--no-config',
    group: 'Options',
    help: 'leave out what jfluid.config.json of this directory says',
    commands: CONFIGURED,
  }),
] as const
