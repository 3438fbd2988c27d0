import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { readBody, siteKey } from '../../src/reveal/call-sites.ts'
import { forEachJdk } from '../support/jdks.ts'

const SOURCE = `
import java.util.function.*;
class Sites extends Exception {
  static int count;
  interface Api { void go(); static void util() { } default void more() { } }
  static class Other { static int field; Other(int n) { } void m() { } static void s() { } private void p() { } }
  enum Color { RED, GREEN }
  record Point(int x, Object o) { }
  Sites(String s) { super(s); }
  void calls(Api a, Other o) { a.go(); Api.util(); o.m(); o.p(); Other.s(); new Other(1); super.toString(); a.more(); }
  static void own() { count++; own(); new Sites("x"); }
  static void fields() { Other.field++; }
  static void lambda() { Runnable r = () -> own(); Supplier<Other> t = () -> null; }
  static void references(Other o) { Runnable a = o::m; Function<Integer, Other> b = Other::new; Runnable c = Other::s; Consumer<Api> d = Api::go; }
  static String text(int n, String s, Integer i, int[] a) { return n + s + i + a; }
  static int enums(Color c) { return switch (c) { case RED -> 1; default -> 2; }; }
  static boolean records(Point p) { return p.equals(null); }
  static void twice(Other o) { o.m(); o.m(); }
  static int arrays(int[] a) { return a.clone().length + new Other[2].length; }
}
`

describe('call sites of a method', () => {
  forEachJdk((jdk) => {
    let folder: string
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'jfluid-sites-'))
      writeFileSync(join(folder, 'Sites.java'), SOURCE)
      execFileSync(jdk.javac, ['-nowarn', '-d', folder, join(folder, 'Sites.java')], { stdio: 'pipe' })
    })
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    const body = (method: string, owner = 'Sites') => {
      const file = parseClassFile(readFileSync(join(folder, `${owner}.class`)))
      const found = file.methods.find((it) => it.name === method)
      if (found === undefined) throw new Error(`no ${method}`)
      return readBody(file, found)
    }
    // Format: `=` is statically bound, `>` dispatched, `!` an initialisation.
    const sites = (method: string, owner?: string) =>
      body(method, owner)
        .sites.map((it) => siteKey(it).replace('Sites$', ''))
        .join(' ')

    it('a call site consists of a call and the classes that the call initialises', () => {
      expect(sites('calls')).toBe(
        '>Api.go()V !Api =Api.util()V >Other.m()V >Other.p()V !Other =Other.s()V =Other.<init>(I)V ' +
          '=java/lang/Exception.toString()Ljava/lang/String; >Api.more()V',
      )
      expect(sites('fields')).toBe('!Other')
      expect(sites('twice')).toBe('>Other.m()V')
    })

    it('a call site does not initialise the class that contains it', () => {
      expect(sites('own')).toBe('=Sites.own()V =Sites.<init>(Ljava/lang/String;)V')
    })

    it("the call site of an exception's constructor includes the method that Throwable's constructor calls back", () => {
      expect(sites('<init>')).toBe(
        '=java/lang/Exception.<init>(Ljava/lang/String;)V >Sites.fillInStackTrace()Ljava/lang/Throwable;',
      )
    })

    it('call sites include the bodies of lambdas, with the interface of the lambda', () => {
      expect(sites('lambda')).toContain('=Sites.lambda$lambda$0()V')
      expect(body('lambda').lambdas.map((it) => it.interfaceName)).toEqual([
        'java/lang/Runnable',
        'java/util/function/Supplier',
      ])
    })

    it('call sites include targets of method references', () => {
      const found = sites('references')
      for (const site of ['>Other.m()V', '=Other.<init>(I)V', '!Other', '=Other.s()V', '>Api.go()V']) {
        expect(found).toContain(site)
      }
    })

    it('a string concatenation is read as calls of the toString methods of the concatenated objects', () => {
      const found = sites('text')
      expect(found).toContain('java/lang/String')
      expect(found).not.toContain('[I')
      expect(found).not.toContain('makeConcat')
    })

    it("the generated methods of a record are read as calls of the same methods of the record's components", () => {
      expect(sites('equals', 'Sites$Point')).toBe('#equals')
      expect(sites('toString', 'Sites$Point')).toBe('#toString')
    })

    it('the creation of an array initialises no class', () => {
      expect(sites('arrays')).toBe('>[I.clone()Ljava/lang/Object;')
    })
  })
})
