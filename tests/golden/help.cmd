# Help of all, of a group, of commands.
$STANDIN
$STANDIN help kernel
$STANDIN help doctor
$STANDIN kernel info --help
$STANDIN kernel convert -h
