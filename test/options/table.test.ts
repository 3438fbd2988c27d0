// What must hold of the table of options for all that is read from it.

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

const NAMES: readonly CommandName[] = ['session', ...COMMANDS]

describe.each(NAMES)('options of %s', (name) => {
  it('option names are unique', () => {
    const longs = optionsOf(name).map(longOf)
    expect(longs).toEqual([...new Set(longs)])
  })

  it('options are in the order of the groups', () => {
    const groups = optionsOf(name).map(({ group }) => GROUPS.indexOf(group))
    expect(groups).toEqual(groups.toSorted((a, b) => a - b))
  })

  it('the options that another option excludes, needs or implies exist', () => {
    for (const { commands, excludes = {}, implies = {}, needs } of optionsOf(name)) {
      const others = [...Object.keys(excludes), ...Object.keys(implies), ...(needs?.oneOf ?? [])]
      const known = commands.flatMap((it) => optionsOf(it)).map(attributeOf)
      for (const other of others) expect(known).toContain(other)
    }
  })
})

it('each option has a help text, and a sentence about its possible values', () => {
  for (const { help, name, value } of OPTIONS) {
    expect(help, name).toMatch(/^[^A-Z].*[^.]$/)
    if (value !== undefined && value.is !== '') expect(value.is, name).toMatch(/^[A-Z].*\.$/)
  }
})

it('the option parser fills each attribute that the code reads', () => {
  for (const row of OPTIONS) {
    const command = withOptions(new Command(), row.commands[0]!)
    const option = command.options.find(({ long }) => long === longOf(row))!
    expect(option.attributeName()).toBe(attributeOf(row))
    expect(option.flags).toBe(row.name)
    expect(option.required).toBe(argumentOf(row) !== undefined)
  }
})

it('values that were parsed are accepted as values of options', () => {
  for (const { name, value } of OPTIONS) {
    for (const text of ['p99', '5ms', '5', '5%', '1000', ...(value?.choices ?? [])]) {
      const parsed = value?.parse(text)
      if (parsed !== undefined && !name.startsWith('--jdwp'))
        expect(value!.holds(parsed), `${name} ${text}`).toBe(true)
    }
  }
})

it('the inferred types match the declarations', () => {
  expectTypeOf<Flags<'record'>['duration']>().toEqualTypeOf<number>()
  expectTypeOf<Flags<'roots'>['duration']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<Flags<'attach'>['trace']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<Flags<'attach'>['slow']>().toEqualTypeOf<number | 'p99' | undefined>()
  expectTypeOf<Flags<'push'>['to']>().toEqualTypeOf<string>()
  expectTypeOf<Flags<'compare'>['callSites']>().toEqualTypeOf<boolean | undefined>()
  expectTypeOf<SessionFlags['sampler']>().toEqualTypeOf<'jfr' | 'cpu' | undefined>()
  expectTypeOf<Flags<'ps'>>().not.toHaveProperty('root')
})

describe('options in a request', () => {
  it('a request contains the given options and the defaults', () => {
    expect(passedOf({ trace: 3, slow: 'p99', jdk: true, callSites: false })).toEqual({
      ...{ mode: 'exact', trace: 3, slow: 'p99' },
    })
  })

  it('a request contains implied options unless they are given', () => {
    expect(passedOf({ mode: 'alloc', liveness: true })).toMatchObject({ sampleEvery: 100 })
    expect(passedOf({ mode: 'alloc', liveness: true, sampleEvery: 7 })).toMatchObject({ sampleEvery: 7 })
  })
})
