"""The control room's server: what the command line can do, over HTTP, for one person."""
