// A session whose root is selected in the picker of `jfluid attach`. Keys are pressed when the screen is ready for them, and the root is
// confirmed after a delay in which a user would read the list.

import headless from '@xterm/headless'

/**
 * @typedef {object} Step
 * @property {(lines: readonly string[]) => boolean} when  whether the screen is ready for this step
 * @property {string} what  the awaited state of the screen, for messages
 * @property {string} keys
 * @property {number} [afterMs]  delay before the keys are pressed
 * @property {'begin' | 'firstCall'} [mark]
 */

const LOOKING_MS = 10_000

/** @returns {Step[]} */
function stepsTo(root) {
  const row = new RegExp(`[\\d.]+(?:ns|µs|ms|s) .*${root.replaceAll(/[.$]/g, '\\$&')}\\s*$`)
  return [
    { what: 'the picker', when: (lines) => lines[0]?.includes('choose a root') === true, keys: 'r' },
    {
      what: 'its field',
      when: (lines) => lines[2]?.startsWith(' root: ') === true,
      keys: root,
      afterMs: LOOKING_MS,
    },
    { what: 'the name', when: (lines) => lines[2]?.includes(root) === true, keys: '\r' },
    {
      what: 'the question',
      when: (lines) => lines.some((it) => it.includes(`Attach with root ${root}`)),
      keys: '\r',
      mark: 'begin',
    },
    {
      what: 'a call of the root',
      when: (lines) => lines.some((it) => row.test(it)),
      keys: '',
      mark: 'firstCall',
    },
  ]
}

export class Picking {
  #steps
  #emulator
  #press
  #reached

  /**
   * @param {string} root
   * @param {{columns: number, rows: number, press: (keys: string) => void, reached: (mark: string) => void}} how
   */
  constructor(root, { columns, rows, press, reached }) {
    this.#steps = stepsTo(root)
    this.#emulator = new headless.Terminal({ cols: columns, rows, allowProposedApi: true })
    this.#press = press
    this.#reached = reached
  }

  take(text) {
    this.#emulator.write(text, () => this.#look())
  }

  /** Returns what the next step waits for; null after the last step. */
  get waitsFor() {
    return this.#steps[0]?.what ?? null
  }

  #look() {
    const [step] = this.#steps
    if (step === undefined || !step.when(this.#screen())) return
    this.#steps.shift()
    setTimeout(() => {
      if (step.mark !== undefined) this.#reached(step.mark)
      if (step.keys !== '') this.#press(step.keys)
    }, step.afterMs ?? 0)
  }

  #screen() {
    const { active } = this.#emulator.buffer
    return Array.from(
      { length: this.#emulator.rows },
      (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? '',
    )
  }
}
