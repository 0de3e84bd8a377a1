-- The memory of a request whose time is not over.
return remembered(ARGV[1])
