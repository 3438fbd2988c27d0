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

describe('sites of a method', () => {
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
    // `=` is statically bound, `>` dispatched, `!` an initialisation.
    const sites = (method: string, owner?: string) =>
      body(method, owner)
        .sites.map((it) => siteKey(it).replace('Sites$', ''))
        .join(' ')

    it('call sites are calls with the classes they initialise', () => {
      expect(sites('calls')).toBe(
        '>Api.go()V !Api =Api.util()V >Other.m()V >Other.p()V !Other =Other.s()V =Other.<init>(I)V ' +
          '=java/lang/Exception.toString()Ljava/lang/String; >Api.more()V',
      )
      expect(sites('fields')).toBe('!Other')
      expect(sites('twice')).toBe('>Other.m()V')
    })

    it('call sites do not initialise their own class', () => {
      expect(sites('own')).toBe('=Sites.own()V =Sites.<init>(Ljava/lang/String;)V')
    })

    it("call sites of an exception's constructor include the callback of Throwable", () => {
      expect(sites('<init>')).toBe(
        '=java/lang/Exception.<init>(Ljava/lang/String;)V >Sites.fillInStackTrace()Ljava/lang/Throwable;',
      )
    })

    it('call sites include lambda bodies with their interface', () => {
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

    it('call sites of a concatenation are toString of its objects', () => {
      const found = sites('text')
      expect(found).toContain('java/lang/String')
      expect(found).not.toContain('[I')
      expect(found).not.toContain('makeConcat')
    })

    it("call sites of a record's methods are those of its components", () => {
      expect(sites('equals', 'Sites$Point')).toBe('#equals')
      expect(sites('toString', 'Sites$Point')).toBe('#toString')
    })

    it('call sites of arrays initialise no class', () => {
      expect(sites('arrays')).toBe('>[I.clone()Ljava/lang/Object;')
    })
  })
})
