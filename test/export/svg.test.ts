import { describe, expect, it } from 'vitest'
import { profileOf } from '../profile/trees.ts'
import { exported, ofEveryMetric, twoThreads } from './exported.ts'

/** Returns x and width of the boxes, keyed by the method in their tooltip. */
function boxesOf(svg: string): Map<string, [x: number, width: number]> {
  const boxes = svg.matchAll(/<title>([^:]+): [\s\S]*?<rect x="([\d.]+)" y="\d+" width="([\d.]+)"/g)
  return new Map([...boxes].map(([, name, x, width]) => [name!, [Number(x), Number(width)]]))
}

describe('the format svg', () => {
  it('draws boxes as wide as their total cost, callees below their caller', async () => {
    // main: 100 of 100, work: 75, rest: 5; 1,180 units are the whole width, and each box has a gap of half a unit.
    const svg = await exported(profileOf('main 1x 20ns ( work 3x 75ns rest 1x 5ns )'), 'svg')
    const boxes = [...boxesOf(svg).values()]
    expect(boxes).toEqual([
      [10, 1179.5],
      [10, 884.5],
      [895, 58.5],
    ])
  })

  it('is an image without scripts, links and styles from elsewhere', async () => {
    const svg = await exported(profileOf('main 1x 20ns ( work 3x 75ns )'), 'svg')
    expect(svg).not.toMatch(/<script|<style|href|url\(|\son\w+=/)
    expect(svg.match(/https?:\/\/[^"]*/g)).toEqual(['http://www.w3.org/2000/svg'])
  })

  it('escapes names, and replaces characters that XML does not allow', async () => {
    const profile = profileOf('main 1x 20ns')
    const [none, main] = profile.methodNames
    const method = '<b a="1">&\u0001\ud800\uffff'
    const svg = await exported({ ...profile, methodNames: [none!, { ...main!, method }] }, 'svg')
    expect(svg).toContain('&lt;b a=&quot;1&quot;&gt;&amp;???')
    expect(svg).not.toMatch(/<b /)
    for (const refused of ['\u0001', '\ufffd', '\uffff']) expect(svg).not.toContain(refused)
  })

  it('cuts the text of a box to its width, and draws no text in a narrow box', async () => {
    const svg = await exported(profileOf('main 1x 1ns ( work 1x 9999ns narrow 1x 2ns )'), 'svg')
    for (const [, width, text] of svg.matchAll(/width="([\d.]+)" height="16"[^>]*\/><text[^>]*>([^<]*)</g))
      expect(text!.length * 6.62).toBeLessThanOrEqual(Number(width))
    expect(svg).toContain('1 context narrower than half a pixel')
  })

  it('shows one tree per thread, each below a box with the name of the thread', async () => {
    const svg = await exported(twoThreads(), 'svg', true)
    expect(svg).toContain('<title>main id=1: ')
    expect(svg).toContain('pool &quot;1&quot;;? id=21')
  })

  it.each(ofEveryMetric({ waits: 700, bytecodes: 12, calls: 12, samples: 12, bytes: 148, 'call sites': 35 }))(
    'the tooltips have the total of %s',
    async (_, profile, total) => {
      expect(await exported(profile, 'svg')).toMatch(new RegExp(`<title>[^<]*\\b${total}\\b`))
    },
  )
})
