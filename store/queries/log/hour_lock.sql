-- Let one transaction at a time sum the hours; others read the old sums meanwhile.
lock table log_hour in share row exclusive mode;
