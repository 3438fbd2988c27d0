// Properties that the table of options must have for all code that reads it.

import { Command } from 'commander'
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  argumentOf,
  attributeOf,
  COMMANDS,
  type CommandName,
  GROUPS,
  longOf,
} from '../../src/options/option.ts'
import { withOptions } from '../../src/options/parser.ts'
import { type Flags, OPTIONS, optionsOf, passedOf, type SessionFlags } from '../../src/options/table.ts'
import type { SlowOption } from '../../src/options/value.ts'

const NAMES: readonly CommandName[] = ['session', ...COMMANDS]

describe.each(NAMES)('options of the command %s', (name) => {
  it('the option names of a command are unique', () => {
    const longs = optionsOf(name).map(longOf)
    expect(longs).toEqual([...new Set(longs)])
  })

  it('the options of a command are in the order of their groups', () => {
    const groups = optionsOf(name).map(({ group }) => GROUPS.indexOf(group))
    expect(groups).toEqual(groups.toSorted((a, b) => a - b))
  })

  it('each option that another option excludes, needs or implies exists', () => {
    for (const { commands, excludes = {}, implies = {}, needs } of optionsOf(name)) {
      const others = [...Object.keys(excludes), ...Object.keys(implies), ...(needs?.oneOf ?? [])]
      const known = commands.flatMap((it) => optionsOf(it)).map(attributeOf)
      for (const other of others) expect(known).toContain(other)
    }
  })
})

it('each option has a help text, and the help of an option with restricted values states the possible values', () => {
  for (const { help, name, value } of OPTIONS) {
    expect(help, name).toMatch(/^[^A-Z].*[^.]$/)
    if (value !== undefined && value.is !== '') expect(value.is, name).toMatch(/^[A-Z].*\.$/)
  }
})

it('the option parser stores each option under the attribute name that the code reads', () => {
  for (const row of OPTIONS) {
    const command = withOptions(new Command(), row.commands[0]!)
    const option = command.options.find(({ long }) => long === longOf(row))!
    expect(option.attributeName()).toBe(attributeOf(row))
    expect(option.flags).toBe(row.name)
    expect(option.required).toBe(argumentOf(row) !== undefined)
  }
})

it('each value that an option parser returns is accepted as a value of that option', () => {
  for (const { name, value } of OPTIONS) {
    for (const text of ['p99', '5ms', '5', '5%', '1000', ...(value?.choices ?? [])]) {
      const parsed = value?.parse(text)
      if (parsed !== undefined && !name.startsWith('--jdwp'))
        expect(value!.holds(parsed), `${name} ${text}`).toBe(true)
    }
  }
})

it('the option types that TypeScript infers match the option table', () => {
  expectTypeOf<Flags<'record'>['duration']>().toEqualTypeOf<number>()
  expectTypeOf<Flags<'why'>['duration']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<Flags<'attach'>['trace']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<Flags<'attach'>['slow']>().toEqualTypeOf<SlowOption | undefined>()
  expectTypeOf<Flags<'push'>['to']>().toEqualTypeOf<string>()
  expectTypeOf<Flags<'compare'>['callSites']>().toEqualTypeOf<boolean | undefined>()
  expectTypeOf<SessionFlags['sampler']>().toEqualTypeOf<'jfr' | 'cpu' | undefined>()
  expectTypeOf<Flags<'ps'>>().not.toHaveProperty('root')
})

describe('options that are sent in a recording request', () => {
  it('a recording request contains the options with a value and the defaults', () => {
    expect(passedOf({ trace: 3, slow: 'p99', jdk: true, callSites: false })).toEqual({
      ...{ mode: 'exact', trace: 3, slow: 'p99' },
    })
  })

  it('a recording request contains the value of an implied option unless the option is given', () => {
    expect(passedOf({ mode: 'alloc', liveness: true })).toMatchObject({ sampleEvery: 100 })
    expect(passedOf({ mode: 'alloc', liveness: true, sampleEvery: 7 })).toMatchObject({ sampleEvery: 7 })
  })
})
