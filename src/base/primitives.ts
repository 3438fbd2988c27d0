/** Names of the primitive types and void, keyed by their letters in descriptors (JVMS 4.3). */
export const PRIMITIVES: { readonly [letter: string]: string } = {
  ...{ Z: 'boolean', C: 'char', F: 'float', D: 'double', B: 'byte', S: 'short', I: 'int', J: 'long' },
  V: 'void',
}
