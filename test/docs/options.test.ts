// docs/options.md is what the table of options says.

import { expect, it } from 'vitest'
import { optionsPage } from './options-table.ts'

it('the page of all options is that of the table', async () => {
  await expect(optionsPage()).toMatchFileSnapshot('../../docs/options.md')
})
