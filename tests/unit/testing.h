/** @file
 *  What every unit test includes: cmocka with the headers it wants first. */
#ifndef STN_TESTS_UNIT_TESTING_H
#define STN_TESTS_UNIT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
