import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  booleanFlag,
  isJavaLauncher,
  mainClassOf,
  parseJavaCommand,
  splitArguments,
} from '../../src/attach/java-command.ts'

/** Returns arguments: `java` and the words of `line`. */
const words = (line: string) => ['/usr/bin/java', ...line.split(' ')]

describe('the command line of a JVM', () => {
  it('a JVM command line is separated into options, main class and arguments', () => {
    assert.deepEqual(parseJavaCommand(words('-Xmx1g -cp a.jar:b com.acme.Main -v x')), {
      options: ['-Xmx1g', '-cp', 'a.jar:b'],
      main: 'com.acme.Main',
      args: ['-v', 'x'],
    })
  })

  it('the main program in a JVM command line may be a jar or a module, or be missing', () => {
    assert.equal(parseJavaCommand(words('-ea -jar /opt/app.jar run')).main, '/opt/app.jar')
    assert.equal(parseJavaCommand(words('-p mods -m acme/com.acme.Main')).main, 'acme/com.acme.Main')
    assert.equal(parseJavaCommand(words('--module=acme/com.acme.Main')).main, 'acme/com.acme.Main')
    assert.equal(parseJavaCommand(words('-version')).main, undefined)
    assert.equal(parseJavaCommand([]).main, undefined)
  })

  it('an option after the main class is parsed as an argument of the program', () => {
    const { options } = parseJavaCommand(words('Main -XX:+DisableAttachMechanism'))
    assert.equal(booleanFlag(options, 'DisableAttachMechanism'), undefined)
  })

  it('if a JVM flag occurs several times, the last occurrence applies', () => {
    const flag = (line: string) => booleanFlag(line.split(' '), 'UsePerfData')
    assert.equal(flag('-XX:+UsePerfData -XX:-UsePerfData'), false)
    assert.equal(flag('-XX:-UsePerfData -XX:+UsePerfData'), true)
    assert.equal(flag('-Xint'), undefined)
  })

  it('quotes, escapes and comments in Java argument files are interpreted', () => {
    const text = '-Xint # slow\n"-Da=b c" \'-Dd="e"\'\n-Df="C:\\\\g" -cp a:\\\n  b'
    assert.deepEqual(splitArguments(text), ['-Xint', '-Da=b c', '-Dd="e"', '-Df=C:\\g', '-cp', 'a:b'])
  })
})

describe('the short name of a program', () => {
  it('the short name of a program is its main class, or its jar without the directory', () => {
    assert.equal(mainClassOf('com.acme.Main -v', words('com.acme.Main -v')), 'com.acme.Main')
    assert.equal(mainClassOf('/opt/app.jar run', words('-jar /opt/app.jar run')), 'app.jar')
    assert.equal(mainClassOf('acme/com.acme.Main', words('-m acme/com.acme.Main')), 'com.acme.Main')
  })

  it('a jar path that contains blanks is separated from the program arguments with the help of the command line', () => {
    assert.equal(
      mainClassOf('/my apps/a b.jar run x', ['java', '-jar', '/my apps/a b.jar', 'run', 'x']),
      'a b.jar',
    )
  })

  it('the short name of a program comes from hsperfdata or the command line, and is unknown if both are missing', () => {
    assert.equal(mainClassOf(undefined, words('-cp x com.acme.Main -v')), 'com.acme.Main')
    assert.equal(mainClassOf('com.acme.Main -v', []), 'com.acme.Main')
    assert.equal(mainClassOf(undefined, []), undefined)
  })

  it('a Java launcher is recognised by its file name', () => {
    assert.equal(isJavaLauncher('/usr/lib/jvm/x/bin/java', []), true)
    assert.equal(isJavaLauncher('/usr/lib/jvm/x/bin/java (deleted)', []), true)
    assert.equal(isJavaLauncher(undefined, ['java', '-version']), true)
    assert.equal(isJavaLauncher('/usr/bin/javac', []), false)
  })
})
