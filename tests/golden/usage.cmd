# Wrong use: one sentence, the nearest known word, exit code 2.
try() {
    "$STANDIN" "$@"
    echo "exit $?"
}
try kernle
try kernel inof
try zzz
try help kernel chekc
try kernel info
try kernel info a b
try kernel info --jsno a
try kernel info --time 3..1 a
try kernel info --cpu x a
try kernel convert a
try kernel convert a b --to cft
try kernel check --rules
