// JDK methods that resolve the callee of a method handle. Their result passes through the runtime, which hides it from C1.
//
// C1 inlines the method of a constant member name without recording a dependency, so its code survives a redefinition of the method, and
// calls are missing (see JFluid1.handleMember). Only the result is hidden; an exception is no member.

/** Class of the methods that resolve callees. Only this class gets the pool entry. */
export const HANDLE_MEMBER_CLASS = 'java/lang/invoke/DirectMethodHandle'

/** Return type of the methods that resolve callees: parameter and result of the runtime's method. */
export const HANDLE_MEMBER_RESULT = 'Ljava/lang/Object;'
