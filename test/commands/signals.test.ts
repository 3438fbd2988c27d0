import { expect, it } from 'vitest'
import { stopSignal } from '../../src/commands/signals.ts'

it('a signal during a push ends the push, and also the command with all its parts', async () => {
  const stop = stopSignal(['SIGUSR2'])
  try {
    const part = stop.part()
    let isPushEnded = false
    part.instead(() => {
      isPushEnded = true
    })
    process.emit('SIGUSR2')
    expect(isPushEnded).toBe(true)
    expect(stop.signal).toBe('SIGUSR2')
    expect(await Promise.all([stop.fired, part.fired])).toEqual(['SIGUSR2', 'SIGUSR2'])
  } finally {
    stop.dispose()
  }
})

it('a second signal during a push ends only the push, if the first one has ended the recording', () => {
  const stop = stopSignal(['SIGUSR2'])
  try {
    process.emit('SIGUSR2')
    let ended = 0
    stop.instead(() => ended++)
    process.emit('SIGUSR2')
    expect(ended).toBe(1)
  } finally {
    stop.dispose()
  }
})
