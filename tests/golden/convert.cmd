# Counts in and out, and what CSV and text look like.
$STANDIN kernel convert $GOLDEN/tiny.txt a.csv
cat a.csv
$STANDIN kernel convert --json --verify a.csv b.txt
cat b.txt
$STANDIN kernel convert --quiet --cpu 1 a.csv - --to csv
