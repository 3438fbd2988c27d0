// Runs tasks on a target one after the other. Runs questions to the revealer one after the other, in a separate queue.

export class Turns {
  #queue: Promise<void> = Promise.resolve()
  readonly #questions: (() => Promise<void>)[] = []
  #asking: Promise<void> | undefined
  closed = false

  /** @param failed  called with the error of a failed task, before the caller that awaits the task gets it */
  constructor(private readonly failed: (error: unknown) => void) {}

  /** Closes the queue: no further task is started. A request to an agent that has detached would cause the loss of its last answer. */
  close(): void {
    this.closed = true
  }

  /** Runs the task after all earlier tasks. An error is also passed to `failed`. */
  enqueue(task: () => Promise<void>): Promise<void> {
    const run = this.#begin(task)
    this.#queue = run.catch(this.failed)
    return run
  }

  /** Like `enqueue`, for a caller that awaits the task and reports its error itself. */
  request(task: () => Promise<void>): Promise<void> {
    const run = this.#begin(task)
    this.#queue = run.catch(() => {}) // the caller receives the error
    return run
  }

  #begin(task: () => Promise<void>): Promise<void> {
    return this.#queue.then(() => (this.closed ? undefined : task()))
  }

  /**
   * Runs the question after all earlier questions. An urgent question, for a class load, runs next after the current question.
   *
   * @param urgent  runs before the waiting questions
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

  /** Resolves when no task and no question is running or waiting. */
  async idle(): Promise<void> {
    await this.#queue
    while (this.#asking !== undefined) await this.#asking
  }

  async #askAll(): Promise<void> {
    for (let ask = this.#questions.shift(); ask !== undefined; ask = this.#questions.shift()) await ask()
    this.#asking = undefined
  }
}
