import { expect, it } from 'vitest'
import { runningIn } from '../../src/attach/flight-recorder.ts'

it('the list of flight recordings has the names of running recordings, and omits stopped and delayed recordings', () => {
  const text = `Recording 1: name=one duration=5m maxsize=32.0MB maxage=1m (running)

Recording 2: name=with blanks, and=more (running)

Recording 3: name=over maxsize=250.0MB (stopped)

Recording 4: name=later duration=1h (delayed)
`
  expect(runningIn(text)).toEqual(['one', 'with blanks, and=more'])
  expect(runningIn('No available recordings.\n\nUse jcmd 4711 JFR.start to start a recording.\n')).toEqual([])
})
