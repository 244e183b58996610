# What a trace holds, counted by hand from tiny.txt; the filters; the JSON of it.
$STANDIN kernel info $GOLDEN/tiny.txt
$STANDIN kernel info --tid 100 --event 'sys_*' --top 2 $GOLDEN/tiny.txt
$STANDIN kernel info --time 20us..27us --cpu 1 $GOLDEN/tiny.txt
$STANDIN kernel info --json $GOLDEN/tiny.txt
