// What is done with a target, one thing after the other; and what the revealer is asked, one thing at a time.

export class Turns {
  #queue: Promise<void> = Promise.resolve()
  readonly #questions: (() => Promise<void>)[] = []
  #asking: Promise<void> | undefined
  closed = false

  /** @param failed  told of errors of tasks, before whoever waits for the task */
  constructor(private readonly failed: (error: unknown) => void) {}

  /** Nothing more is begun: what is written to an agent that has gone would cost us its last answer. */
  close(): void {
    this.closed = true
  }

  /** Runs tasks one after the other. */
  enqueue(task: () => Promise<void>): Promise<void> {
    const run = this.#begin(task)
    this.#queue = run.catch(this.failed)
    return run
  }

  /** The same for somebody who waits for the task and says what went wrong: nobody else is told of its errors. */
  request(task: () => Promise<void>): Promise<void> {
    const run = this.#begin(task)
    this.#queue = run.catch(() => {}) // whoever asked is told
    return run
  }

  #begin(task: () => Promise<void>): Promise<void> {
    return this.#queue.then(() => (this.closed ? undefined : task()))
  }

  /**
   * One question after the other: a class may come out of turn while the answer to another is looked for.
   *
   * @param urgent  before those that wait
   */
  ask<T>(question: () => T | Promise<T>, urgent = false): Promise<T> {
    const answer = new Promise<T>((resolve, reject) => {
      const ask = async () => {
        try {
          resolve(await question())
        } catch (error) {
          reject(error)
        }
      }
      if (urgent) this.#questions.unshift(ask)
      else this.#questions.push(ask)
    })
    this.#asking ??= this.#askAll()
    return answer
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#queue
    while (this.#asking !== undefined) await this.#asking
  }

  async #askAll(): Promise<void> {
    for (let ask = this.#questions.shift(); ask !== undefined; ask = this.#questions.shift()) await ask()
    this.#asking = undefined
  }
}
