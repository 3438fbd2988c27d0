// The folders of --source.

import type { Flags } from '../options/table.ts'
import { SourceFolders } from '../profile/source-folders.ts'

/** Checks the folders. Returns undefined if none is given. @throws NoSourceFolder */
export async function sourcesOf({
  source,
}: Pick<Flags<'open'>, 'source'>): Promise<SourceFolders | undefined> {
  return source === undefined || source.length === 0 ? undefined : await SourceFolders.open(source)
}
