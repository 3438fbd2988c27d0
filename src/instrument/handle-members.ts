// Methods of the JDK that give what a method handle calls: what they return goes through the runtime, which hides it from C1.
//
// C1 inlines what a constant member names and records nothing, so that its code outlives a redefinition of the method, and
// calls are missing (JFluid1.handleMember says more). Only a value that is returned is hidden: what is thrown is none.

/** The class that has them. It alone gets the pool entry. */
export const HANDLE_MEMBER_CLASS = 'java/lang/invoke/DirectMethodHandle'

/** What they all return: the runtime's method takes and gives the same. */
export const HANDLE_MEMBER_RESULT = 'Ljava/lang/Object;'
