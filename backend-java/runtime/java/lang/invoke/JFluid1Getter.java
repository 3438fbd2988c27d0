package java.lang.invoke;

/** Finds the fields and getters of values. In this package, since the lookup without access checks is private to it. */
public final class JFluid1Getter {
    private JFluid1Getter() {}

    /**
     * Returns a handle of type (Object)Object. Asks the class loader only for the type that the method returns; reflection would ask it for
     * the types of all methods of the class.
     *
     * @param descriptor of the method, without parameters
     */
    public static MethodHandle of(Class<?> holder, String name, String descriptor) throws ReflectiveOperationException {
        MethodType type = MethodType.fromMethodDescriptorString(descriptor, holder.getClassLoader());
        return MethodHandles.Lookup.IMPL_LOOKUP.findVirtual(holder, name, type)
                .asType(MethodType.methodType(Object.class, Object.class));
    }

    /**
     * Returns the offset of an instance field. Asks the class loader only for the type of the field.
     *
     * @param holder     the class that declares the field
     * @param descriptor the exact type of the field
     */
    public static long offset(Class<?> holder, String name, String descriptor) throws ReflectiveOperationException {
        Class<?> type =
                MethodType.fromMethodDescriptorString("()".concat(descriptor), holder.getClassLoader()).returnType();
        MemberName field = MethodHandles.Lookup.IMPL_LOOKUP.resolveOrFail(
                MethodHandleNatives.Constants.REF_getField, holder, name, type);
        if (field.isStatic() || field.getDeclaringClass() != holder) {
            throw new NoSuchFieldException("no instance field ".concat(name));
        }
        return MethodHandleNatives.objectFieldOffset(field);
    }
}
