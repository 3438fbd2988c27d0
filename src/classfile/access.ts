// Access flags (JVMS tables 4.1-B and 4.6-A).

export const ACC_PUBLIC = 0x0001
export const ACC_PRIVATE = 0x0002
export const ACC_PROTECTED = 0x0004
export const ACC_STATIC = 0x0008
export const ACC_FINAL = 0x0010
export const ACC_SYNCHRONIZED = 0x0020
export const ACC_NATIVE = 0x0100
export const ACC_INTERFACE = 0x0200
export const ACC_ABSTRACT = 0x0400
export const ACC_SYNTHETIC = 0x1000
