"""The sandbox: bubblewrap, landlock, seccomp, and the files that a program needs in it."""
