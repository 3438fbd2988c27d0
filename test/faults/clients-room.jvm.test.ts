// A client without room for the event buffer leaves the target unchanged. A disk that fills during a recording:
// clients-room.full.jvm.test.ts.

import { describe, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { newestOrAll } from '../support/jdks.ts'
import { aftermath, clientTrials, startClient, verdict } from './lost-clients.ts'
import { TRIAL_MS, times } from './trials.ts'

/** Command prefix that limits the size of files that the client writes. The buffer is much larger than this limit. */
const LIMITED = () => ['sh', '-c', 'ulimit -f 64 && exec "$@"', 'sh']
describe.each(newestOrAll)('a client without space for the event buffer, JDK $version', (jdk) => {
  const tries = times(1, 50)
  it('a client that cannot create the event buffer for lack of space reports the error and changes nothing in the target', {
    timeout: 60_000 + tries * 30_000 + TRIAL_MS,
  }, async () => {
    await clientTrials('client: no room for the buffer', jdk, tries, async (witness) => {
      await witness.state()
      const client = startClient(witness, { by: LIMITED })
      const said = /^jfluid: cannot create the event buffer .*: EFBIG$/m
      const wrong = await verdict(client, { [STATUS.cannotWrite]: said })
      const { harm, ms } = await aftermath(witness, performance.now())
      return { harm, wrong, profile: 'none', left: [], ms }
    })
  })
})
