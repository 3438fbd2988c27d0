// JSON schemas of docs/schema.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { OPTIONS } from '../../src/options/table.ts'

/** The parts of a JSON schema that docs/schema uses. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
}

export const SCHEMAS = join(import.meta.dirname, '../../docs/schema')

/** All commands with the option --json. */
export const JSON_COMMANDS: readonly string[] = OPTIONS.filter(({ name }) => name === '--json').flatMap(
  ({ commands }) => commands,
)

export function schemaOf(command: string): Schema {
  return JSON.parse(readFileSync(join(SCHEMAS, `${command}.json`), 'utf8')) as Schema
}

const compiled = new Map<string, ValidateFunction>()

/** Returns what is wrong with the output of a command, according to the schema of the command. */
export function problemsOf(command: string, output: string): string[] {
  const known = compiled.get(command)
  const validate = known ?? new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile(schemaOf(command))
  compiled.set(command, validate)
  validate(JSON.parse(output))
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}
