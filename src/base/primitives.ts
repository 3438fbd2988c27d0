/** Names of the primitive types and of void, keyed by the letter of the type in descriptors (JVMS 4.3). */
export const PRIMITIVES: { readonly [letter: string]: string } = {
  ...{ Z: 'boolean', C: 'char', F: 'float', D: 'double', B: 'byte', S: 'short', I: 'int', J: 'long' },
  V: 'void',
}
