# What C++ throws, and what longjmp does: each a tag with an address. The toolchain's linker wants them defined.
	.globl __cpp_exception
	.tagtype __cpp_exception i32
__cpp_exception:
	.globl __c_longjmp
	.tagtype __c_longjmp i32
__c_longjmp:
