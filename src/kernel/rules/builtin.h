/** @file
 *  The text of kernel.rules, which the build turns into a C array. */
#ifndef STN_KERNEL_RULES_BUILTIN_H
#define STN_KERNEL_RULES_BUILTIN_H

/** NUL-terminated. */
extern const char stn_kernel_rules[];

#endif
