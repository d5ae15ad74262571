"""The sandbox: bubblewrap, landlock, seccomp, and the files a program needs in it."""
