// docs/options.md is generated from the table of options.

import { expect, it } from 'vitest'
import { optionsPage } from './options-table.ts'

it('docs/options.md is generated from the option table', async () => {
  await expect(optionsPage()).toMatchFileSnapshot('../../docs/options.md')
})
