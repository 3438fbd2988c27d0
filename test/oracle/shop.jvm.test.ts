import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync } from 'node:fs'
import { beforeAll, it } from 'vitest'
import { compileShop } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { itInFull } from '../support/only-if.ts'
import { countCalls } from './oracle.ts'

forNewestJdk((jdk) => {
  let classpath: string
  beforeAll(async () => {
    classpath = await compileShop(jdk)
  })

  itInFull(
    'the call counters in the program "shop" and the debugger count the same calls of each method',
    async () => {
      const { methods, stdout } = await countCalls({
        ...{ jdk, classpath, mainClass: 'shop.Main', args: ['--selfcheck', '20'] },
        ...{ root: 'shop.SelfCheck.run', include: ['shop.*'], exclude: ['shop.Call'] },
      })
      const own = JSON.parse(stdout) as Record<string, number>
      assert.ok(Object.keys(own).length >= 40)
      assert.ok(Object.values(own).every((calls) => calls > 0))
      assert.deepEqual(Object.fromEntries(Object.keys(own).map((name) => [name, methods.get(name)])), own)
    },
  )

  it('the program "shop" serves requests and the self-check over HTTP, and SIGTERM ends all its processes', async () => {
    const tmp = mkdtempSync(`${temporaryDirectory()}/`)
    const java = (...args: string[]) =>
      startJava(jdk, [`-Djava.io.tmpdir=${tmp}`, '-cp', classpath, 'shop.Main', ...args])
    const once = java('--selfcheck', '50')
    await once.exit

    const shop = java('--rate', '100')
    const port = / on port (\d+), pid \d+$/.exec(await shop.line(/^shop ready/))?.[1]
    const get = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
    assert.equal((await get('/selfcheck?n=50')).trim(), once.stdout().trim())
    while ((JSON.parse(await get('/stats')) as { requests: number }).requests < 20) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.match(await get('/search?q=kettle'), /brass kettle/)
    assert.equal(
      (await fetch(`http://127.0.0.1:${port}/order`, { method: 'POST', body: '1 eels' })).status,
      404,
    )
    shop.child.kill('SIGTERM')
    assert.equal((await shop.exit).code, 143)
    assert.deepEqual(
      readdirSync(tmp).filter((name) => name.startsWith('shop')),
      [],
    )
  })
})
