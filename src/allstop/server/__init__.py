"""The control room's server: the functions of the command line over HTTP, for one person."""
