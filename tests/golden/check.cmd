# A trace that obeys the rules, and one that does not. The rate differs from run to run.
$STANDIN kernel check $GOLDEN/tiny.txt | sed 's/ (checked.*//'
$STANDIN kernel check $GOLDEN/broken.txt >out
echo "exit $?"
sed 's/ (checked.*//' out
$STANDIN kernel check --quiet $GOLDEN/broken.txt
echo "exit $?"
