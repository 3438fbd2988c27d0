// The search for the source file of a class.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NoSourceFolder, SourceFolders, sourcePaths } from '../../src/profile/source-folders.ts'

let top: string
beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'jfluid-source-test-'))
})
afterAll(() => rmSync(top, { recursive: true, force: true }))

/** Creates a file with its own path as text. */
function file(path: string): void {
  mkdirSync(dirname(join(top, path)), { recursive: true })
  writeFileSync(join(top, path), `// ${path}\nclass X {}\n`)
}

async function found(folder: string, className: string, sourceFile?: string): Promise<string | undefined> {
  const folders = await SourceFolders.open([join(top, folder)])
  return (await folders.find(className, sourceFile))?.lines[0]
}

describe('the source file of a class', () => {
  it('the source file is in the folder of its package; nested classes are in the file of the outer class', async () => {
    file('plain/com/shop/Order.java')
    expect(await found('plain', 'com.shop.Order')).toBe('// plain/com/shop/Order.java')
    expect(await found('plain', 'com.shop.Order$Item$1')).toBe('// plain/com/shop/Order.java')
    expect(await found('plain', 'com.shop.Missing')).toBeUndefined()
  })

  it('the file name in the class file is used if the name is known; otherwise the extensions of the JVM languages are tried', async () => {
    file('kotlin/com/shop/Prices.kt')
    file('kotlin/com/shop/util.kt')
    expect(await found('kotlin', 'com.shop.Prices')).toBe('// kotlin/com/shop/Prices.kt')
    expect(await found('kotlin', 'com.shop.PricesKt')).toBe('// kotlin/com/shop/Prices.kt')
    expect(await found('kotlin', 'com.shop.Helper', 'util.kt')).toBe('// kotlin/com/shop/util.kt')
  })

  it('the source folders of Maven and Gradle projects with several modules are found below the folder of the project', async () => {
    file('project/core/src/main/java/com/shop/Core.java')
    file('project/web/app/src/main/kotlin/com/shop/Web.kt')
    file('project/tools/src/com/shop/Tool.java')
    file('project/core/target/generated/src/main/java/com/shop/Generated.java')
    file('unpacked/java.base/java/lang/Thread.java')
    expect(await found('project', 'com.shop.Core')).toBe('// project/core/src/main/java/com/shop/Core.java')
    expect(await found('project', 'com.shop.Web')).toBe('// project/web/app/src/main/kotlin/com/shop/Web.kt')
    expect(await found('project', 'com.shop.Tool')).toBe('// project/tools/src/com/shop/Tool.java')
    expect(await found('project', 'com.shop.Generated')).toBeUndefined()
    expect(await found('unpacked', 'java.lang.Thread')).toBe('// unpacked/java.base/java/lang/Thread.java')
  })

  it('no file outside the given folder is read, for any name of the class or of the source file', async () => {
    file('secret/Key.java')
    file('inside/com/shop/Order.java')
    symlinkSync('../../../secret', join(top, 'inside/com/shop/link'))
    symlinkSync('../../../secret/Key.java', join(top, 'inside/com/shop/Key.java'))
    expect(await found('inside', 'com.shop.Order', '../../../secret/Key.java')).toBeUndefined()
    expect(await found('inside', '...secret.Key')).toBeUndefined()
    expect(await found('inside', '../secret/Key')).toBeUndefined()
    expect(await found('inside', 'com.shop.link.Key')).toBeUndefined()
    expect(await found('inside', 'com.shop.Key')).toBeUndefined()
    const refused: string[] = []
    const folders = await SourceFolders.open([join(top, 'inside')])
    await folders.find('com.shop.Key', undefined, (path) => refused.push(path))
    await folders.find('com.shop.Order', undefined, (path) => refused.push(path))
    expect(refused).toEqual([join(top, 'inside/com/shop/Key.java')])
    expect(sourcePaths('com.shop.Order\0', 'x')).toEqual(['com/shop/x'])
    expect(sourcePaths('com..Order')).toEqual([])
  })

  it('a folder with the name of a source file is not read', async () => {
    mkdirSync(join(top, 'folders/com/shop/Order.java'), { recursive: true })
    expect(await found('folders', 'com.shop.Order')).toBeUndefined()
  })

  it('a source folder that is missing, or that is a file, is refused', async () => {
    file('One.java')
    await expect(SourceFolders.open([join(top, 'nowhere')])).rejects.toThrow(NoSourceFolder)
    await expect(SourceFolders.open([join(top, 'One.java')])).rejects.toThrow(/it is not a folder/)
  })
})
