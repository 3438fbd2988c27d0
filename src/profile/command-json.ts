// First members of the JSON that a command prints with --json: the name of the command, and the version of its JSON. docs/schema contains
// one schema per command, docs/json.md the rules for all of them.

import { jsonText } from './json-text.ts'

/** Version of each command's JSON. A version is raised when a member is removed or changes its meaning, not when a member is added. */
export const JSON_VERSIONS = {
  ...{ ps: 1, doctor: 1, why: 1, threads: 1, detach: 1 },
  ...{ gate: 1, compare: 2, report: 1 },
} as const

export type JsonCommand = keyof typeof JSON_VERSIONS

export interface Envelope {
  readonly command: JsonCommand
  readonly version: number
}

export function envelopeOf(command: JsonCommand): Envelope {
  return { command, version: JSON_VERSIONS[command] }
}

/** Returns the output of a command with --json. */
export function commandJson(command: JsonCommand, members: object): string {
  return `${jsonText({ ...envelopeOf(command), ...members }, 2)}\n`
}
