// node slowest.mjs <pid> <root> <seconds>: the hottest methods of a task, each second; then a profile.

import { attach, JfluidError, writeProfile } from 'jfluid'

const [pid, root, seconds] = process.argv.slice(2)

try {
  const attachment = await attach(Number(pid), { root, include: 'shop.**' })
  attachment.on('warning', (text) => console.error(`warning: ${text}`))
  attachment.on('ended', (reason) => console.error(`ended: ${reason}`))
  for await (const picture of attachment.pictures(1000)) {
    console.log(`${(picture.elapsedMs / 1000).toFixed(1)} s`)
    for (const { name, calls, self } of picture.hottest(3)) {
      console.log(`  ${name.class}.${name.method}: ${calls} calls, ${(self / 1e6).toFixed(1)} ms`)
    }
    if (picture.elapsedMs > Number(seconds) * 1000) break
  }
  await writeProfile(await attachment.detach(), 'slowest.jfluid')
  console.log('profile written to slowest.jfluid')
} catch (error) {
  if (!(error instanceof JfluidError)) throw error
  console.error(`${error.message}\n${error.hint}`)
  process.exitCode = error.exitCode
}
