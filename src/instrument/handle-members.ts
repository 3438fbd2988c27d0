// JDK methods that resolve the callee of a method handle. Their result is passed through the runtime, so that C1 sees no constant.
//
// C1 inlines the method of a constant member name without recording a dependency. So the compiled code is kept when the method is
// redefined, and its calls are missing (see JFluid1.handleMember). Only results are passed through the runtime, not exceptions.

/** Class of the methods that resolve callees. Only this class gets the pool entry. */
export const HANDLE_MEMBER_CLASS = 'java/lang/invoke/DirectMethodHandle'

/** Return type of the methods that resolve callees. The parameter and the result of the runtime's method have the same type. */
export const HANDLE_MEMBER_RESULT = 'Ljava/lang/Object;'
