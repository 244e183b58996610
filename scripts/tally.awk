# Sums what the test tools said: awk -f scripts/tally.awk LOG…
# Reads ctest's LastTest.log (a cmocka program counts each of its tests, any other program
# counts as one) and TAP from bats. Prints "PASSED FAILED SKIPPED".

/^[0-9]+\/[0-9]+ Testing: / { in_ctest = 1; passed = failed = skipped = cmocka = said_skipped = 0; next }
in_ctest && /^\[  PASSED  \] [0-9]+ test/ { passed += $4; cmocka = 1; next }
in_ctest && /^\[  FAILED  \] [0-9]+ test/ { failed += $4; next }
in_ctest && /^\[  SKIPPED \] [0-9]+ test/ { skipped += $4; next }
in_ctest && /^skipped: / { said_skipped = 1; next } # exit 77; the log itself says "Passed"
in_ctest && /^(Test (Passed|Failed|Not Run|Timeout)|Unable to find executable)/ {
    good = /^Test Passed/
    if (cmocka == 0) { skipped = good && said_skipped; passed = good && !said_skipped }
    if (!good && failed == 0) failed = 1 # a crash, a leak or a time-out
    total_passed += passed; total_failed += failed; total_skipped += skipped
    in_ctest = 0
    next
}

/^ok [0-9]+ .*# [Ss][Kk][Ii][Pp]/ { total_skipped++; next }
/^ok [0-9]+ / { total_passed++; next }
/^not ok [0-9]+ / { total_failed++; next }

END { print total_passed + 0, total_failed + 0, total_skipped + 0 }
