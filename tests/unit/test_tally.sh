#!/bin/sh
# The closing line of `make test` is what scripts/tally.awk adds up from the logs.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
failed=0

# try EXPECTED: the log on standard input must add up to "PASSED FAILED SKIPPED".
try() {
    sums=$(awk -f "$root/scripts/tally.awk")
    [ "$sums" = "$1" ] || {
        echo "expected \"$1\", got \"$sums\""
        failed=1
    }
}

# A cmocka program counts each of its tests.
try '2 0 1' <<'L'
1/1 Testing: test_a
[==========] Running 3 test(s).
skipped: ../shared not there
[==========] 3 test(s) run.
[  PASSED  ] 2 test(s).
[  SKIPPED ] 1 test(s), listed below:
Test Passed.
L
# A failed test counts once, not again for the program.
try '1 2 0' <<'L'
1/1 Testing: test_a
[  PASSED  ] 1 test(s).
[  FAILED  ] 2 test(s), listed below:
Test Failed.
L
# A crash in mid-run, a leak at the end, and a program that was not built are failures.
try '1 3 0' <<'L'
1/3 Testing: test_crash
[ RUN      ] b
Test Failed.
2/3 Testing: test_leak
[  PASSED  ] 1 test(s).
ERROR: LeakSanitizer: detected memory leaks
Test Failed.
3/3 Testing: test_missing
Unable to find executable: test_missing
L
# Other programs count as one; one that says so was skipped.
try '1 1 1' <<'L'
1/3 Testing: replay_x
Test Passed.
2/3 Testing: golden_x
Test Failed.
3/3 Testing: test_x
skipped: no tracefs
Test Passed.
L
# bats.
try '1 1 1' <<'L'
1..3
ok 1 one
ok 2 two # skip no tracefs
not ok 3 three
L
try '0 0 0' </dev/null
exit $failed
