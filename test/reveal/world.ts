// Programs for the tests of revelation: Java source in the test, compiled once per test file, and a target JVM that this module simulates.
// Classes are loaded in HotSpot's order: a class passes the hook before its supertypes do.
//
// Methods are written without package, space-separated and sorted: `Circle.area Main.run`.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { CLASS_HIDDEN, CLASS_JDK, CLASS_UNINITIALISED, type ClassInfo } from '../../src/base/class-info.ts'
import { type Chosen, chosenOf } from '../../src/reveal/chosen.ts'
import type { LookedUp } from '../../src/reveal/classes.ts'
import type { Past } from '../../src/reveal/lazy.ts'
import { parseClassPattern, parseRoot } from '../../src/reveal/patterns.ts'
import { Revealer, type Revelation } from '../../src/reveal/revealer.ts'
import { oldest } from '../support/jdks.ts'

/** JDK classes that every target has loaded, in addition to the supertypes of its own classes. */
const JDK_CLASSES =
  `java/lang/Object java/lang/String java/lang/StringBuilder java/lang/Math java/lang/Integer
  java/lang/Runnable java/lang/Comparable java/lang/Iterable java/lang/Thread java/lang/ClassLoader
  java/lang/Throwable java/lang/RuntimeException java/lang/reflect/Method java/util/List java/util/ArrayList
  java/util/Collections java/util/Comparator java/util/Objects java/util/HashMap java/util/function/Function
  java/util/function/Supplier java/io/PrintStream java/lang/System java/lang/Enum
  java/lang/ref/WeakReference java/lang/ref/ReferenceQueue java/lang/ArithmeticException`.split(/\s+/)

interface Row {
  superName: string
  interfaces: string[]
  access: number
  jdk: boolean
  file: string
}

export interface Program {
  readonly name: string
  readonly source: string
  /** Internal names of its classes; available after the compilation. */
  classes: string[]
}

const programs: Program[] = []
const rows = new Map<string, Row>()

/** Declares a program in one package of the given name. Must be called at the top level of a test file. */
export function program(name: string, source: string): Program {
  const it = { name, source, classes: [] }
  programs.push(it)
  return it
}

/** Compiles the programs of this file before its tests run. */
export function compilePrograms(): void {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'jfluid-reveal-'))
    const sources = programs.map(({ name, source }) => {
      const file = join(folder, `src-${name}.java`)
      writeFileSync(file, `package ${name};\n${source}`)
      return file
    })
    const classes = join(folder, 'classes')
    const describe = join(import.meta.dirname, 'DescribeClasses.java')
    execFileSync(oldest.javac, ['-nowarn', '-g', '-proc:none', '-d', classes, describe, ...sources], {
      stdio: 'pipe',
    })
    for (const it of programs) {
      it.classes = readdirSync(join(classes, it.name)).map(
        (file) => `${it.name}/${file.replace('.class', '')}`,
      )
    }
    const jdk = join(folder, 'jdk')
    mkdirSync(jdk)
    const wanted = [...JDK_CLASSES, ...programs.flatMap((it) => it.classes)]
    const java = ['-XX:+UseSerialGC', '-Xshare:auto', '-cp', classes, 'DescribeClasses', jdk, ...wanted]
    for (const line of execFileSync(oldest.java, java, { encoding: 'utf8' }).trim().split('\n')) {
      const [name, superName, interfaces, access, isJdk] = line.split('|')
      rows.set(name, {
        superName,
        interfaces: interfaces === '' ? [] : interfaces.split(','),
        access: Number(access),
        jdk: isJdk === 'true',
        file: join(isJdk === 'true' ? jdk : classes, `${name}.class`),
      })
    }
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
}

export interface TargetOptions {
  program: Program
  /** Roots, space-separated. */
  root?: string
  scheme?: 'a' | 'b'
  include?: string
  exclude?: string
  jdk?: boolean
  followThreads?: boolean
  lookAhead?: number
  maxMethods?: number
  /** Classes that are not loaded at the start: simple names, or internal names of JDK classes. */
  late?: string
  /** Classes (simple names) that are loaded but not initialised at the start. */
  uninitialised?: string
}

const APP = 1

export class Target {
  readonly revealer: Revealer
  /** All answers so far. */
  readonly taken: string[] = []
  readonly ready = new Set<number>()
  readonly skipped: string[] = []
  reflection = 0
  /** Sizes of the requests for class files. */
  readonly requests: number[] = []
  readonly fetched: string[] = []
  readonly #program: Program
  readonly #uninitialised: ReadonlySet<string>
  readonly #ids = new Map<string, number>()
  readonly #names: string[] = ['']
  readonly #loaders: number[] = [0]

  constructor(options: TargetOptions) {
    this.#program = options.program
    const words = (text: string | undefined) => (text ?? '').split(' ').filter((it) => it !== '')
    this.revealer = new Revealer(
      {
        scheme: options.scheme ?? 'b',
        roots: words(options.root ?? 'Main.run').map(parseRoot),
        include: words(options.include).map((it) => parseClassPattern('include', it)),
        exclude: words(options.exclude).map((it) => parseClassPattern('exclude', it)),
        jdk: options.jdk ?? false,
        followThreads: options.followThreads ?? false,
        lookAhead: options.lookAhead ?? 0,
        ...(options.maxMethods !== undefined && { maxMethods: options.maxMethods }),
      },
      {
        classBytes: async (ids) => {
          this.requests.push(ids.length)
          return ids.map((id) => {
            this.fetched.push(this.#names[id])
            return this.bytes(this.#names[id])
          })
        },
      },
    )
    this.#uninitialised = new Set(words(options.uninitialised).map((it) => this.full(it)))
    const late = new Set(words(options.late).map((it) => this.full(it)))
    const jdk = [...rows.keys()].filter((it) => rows.get(it)?.jdk)
    const loaded = [...jdk, ...this.#program.classes].filter((it) => !late.has(it))
    this.revealer.addClasses(loaded.map((it) => this.info(it)))
  }

  full(simple: string): string {
    return simple.includes('/') ? simple : `${this.#program.name}/${simple}`
  }

  readonly #replaced = new Map<string, string>()

  bytes(name: string): Uint8Array | null {
    const row = rows.get(this.#replaced.get(name) ?? name)
    return row === undefined ? null : readFileSync(row.file)
  }

  id(name: string, loader = rows.get(name)?.jdk ? 0 : APP): number {
    const key = `${name}@${loader}`
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    const id = this.#names.length
    this.#names.push(name)
    this.#loaders.push(loader)
    this.#ids.set(key, id)
    return id
  }

  info(name: string, loader?: number): ClassInfo {
    const row = rows.get(name)
    if (row === undefined) throw new Error(`no class ${name}`)
    const above = (it: string) => (rows.get(it)?.jdk ? this.id(it) : this.id(it, loader))
    return {
      id: this.id(name, loader),
      name,
      loader: loader ?? (row.jdk ? 0 : APP),
      superId: row.superName === '' ? 0 : above(row.superName),
      interfaceIds: row.interfaces.map(above),
      access: row.access,
      flags: row.jdk ? CLASS_JDK : this.#uninitialised.has(name) ? CLASS_UNINITIALISED : 0,
      nestHost: 0,
    }
  }

  async start(): Promise<string> {
    return this.#note(await this.revealer.start())
  }

  /** @param ran  `Main.run` of each method that has already run */
  async rootsWillRun(ran: readonly string[]): Promise<string> {
    const names: string[] = []
    for await (const step of this.revealer.rootsWillRun(past(ran))) names.push(this.#note(step))
    return names.join(' ').split(' ').filter(Boolean).sort().join(' ')
  }

  /** Reports the first invocation of an instrumented method: `Main.run`. */
  async invoke(method: string): Promise<string> {
    return this.#note(await this.revealer.firstInvocation(this.methodId(method)))
  }

  methodId(method: string): number {
    const found = [...this.revealer.methods].find((it) => short(it) === method)
    if (found === undefined) throw new Error(`${method} is not instrumented`)
    return found.id
  }

  isReady(method: string): boolean {
    return this.ready.has(this.methodId(method))
  }

  /** Loads a class in HotSpot's order: its hook, then its supertypes' hooks, then the definition. */
  async load(simple: string, loader = APP): Promise<string> {
    const shown: string[] = []
    await this.#load(this.full(simple), loader, shown)
    return shown.filter((it) => it !== '').join(' ')
  }

  /** Calls only the hook: supertypes are not loaded. */
  async hook(simple: string, loader = APP): Promise<string> {
    const name = this.full(simple)
    const bytes = this.bytes(name)
    if (bytes === null) throw new Error(`no class ${name}`)
    return this.#note(await this.revealer.classLoading({ id: this.id(name, loader), name, loader }, bytes))
  }

  readonly #loaded = new Set<string>()

  async #load(name: string, loader: number, shown: string[]): Promise<void> {
    const row = rows.get(name)
    if (row === undefined || row.jdk || this.#loaded.has(`${name}@${loader}`)) return
    this.#loaded.add(`${name}@${loader}`)
    shown.push(await this.hook(name, loader))
    for (const above of [row.superName, ...row.interfaces]) {
      const initial = this.#ids.has(`${above}@${loader}`)
      if (!initial) await this.#load(above, loader, shown)
    }
    this.revealer.addClasses([this.info(name, loader)])
    shown.push(this.#note(await this.revealer.classesAppeared()))
  }

  /** Adds classes that did not pass the hook. */
  async appear(infos: readonly ClassInfo[]): Promise<string> {
    this.revealer.addClasses(infos)
    return this.#note(await this.revealer.classesAppeared())
  }

  /** Returns the hidden class of a lambda created in `host`. */
  lambdaProxy(host: string, interfaceName: string): ClassInfo {
    const name = `${this.full(host)}$$Lambda$1+0x0000${this.#names.length}`
    return {
      id: this.id(name),
      name,
      loader: APP,
      superId: this.id('java/lang/Object'),
      interfaceIds: [this.id(rows.has(interfaceName) ? interfaceName : this.full(interfaceName))],
      access: 0x1010,
      flags: CLASS_HIDDEN,
      nestHost: this.id(this.full(host)),
    }
  }

  async reflect(simple: string, name: string, descriptor: string): Promise<string> {
    return this.#note(await this.revealer.reflectiveTarget(this.id(this.full(simple)), name, descriptor))
  }

  /** Defines a hidden class with the code of `simple` for `host`. */
  async defineHidden(host: string, simple: string): Promise<string> {
    const bytes = this.bytes(this.full(simple)) ?? new Uint8Array()
    return this.#note(await this.revealer.hiddenClass(this.id(this.full(host)), bytes))
  }

  /** Simulates another agent that replaces the code of a class by the code of another class. */
  async change(simple: string, to: string): Promise<string> {
    this.#replaced.set(this.full(simple), this.full(to))
    return this.#note(await this.revealer.classesChanged([this.id(this.full(simple))]))
  }

  /** Replaces the set of methods added by the user. */
  async add(...texts: string[]): Promise<string> {
    return this.#note(await this.revealer.add(texts.map((it) => this.#chosen(it))))
  }

  lookUp(text: string): Promise<LookedUp> {
    return this.revealer.classes.lookUp(this.#chosen(text))
  }

  readonly #choices = new Map<string, Chosen>()

  /** Returns the same object for the same text, since the same methods are the same request. */
  #chosen(text: string): Chosen {
    const known = this.#choices.get(text)
    const chosen = known ?? chosenOf('include', text, (pattern) => this.revealer.classes.has(pattern))
    this.#choices.set(text, chosen)
    return chosen
  }

  /** Invokes every instrumented method that is not ready, until no new method is found. */
  async invokeAll(): Promise<void> {
    for (;;) {
      const next = [...this.revealer.methods].find((it) => !this.ready.has(it.id))
      if (next === undefined) return
      this.#note(await this.revealer.firstInvocation(next.id))
    }
  }

  note(answer: Revelation): string {
    return this.#note(answer)
  }

  #note(answer: Revelation): string {
    const shown = answer.instrument.map(short).sort()
    this.taken.push(...shown)
    for (const id of answer.ready) this.ready.add(id)
    for (const it of answer.skipped) this.skipped.push(`${short({ ...it, name: it.method })}: ${it.reason}`)
    if (answer.reflection) this.reflection++
    return shown.join(' ')
  }
}

/** Returns the past of a JVM in which these methods are known to have run. */
export function past(ran: readonly string[]): Past {
  return {
    isKnown: ran.length > 0,
    thatRan: (targets) => targets.filter((it) => ran.includes(short(it))),
  }
}

function short(it: { className: string; name: string }): string {
  return `${it.className.slice(it.className.lastIndexOf('/') + 1)}.${it.name}`
}
