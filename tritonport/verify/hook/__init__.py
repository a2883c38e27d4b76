"""Running somebody's command, their tests or a script, with the launches of its kernels in hand.

The command runs in processes of its own, and in each of them a start-up module of Python (`sitecustomize`) replaces the
text of kernel files by that of their ports, lets the emulator carry the launches where there is no GPU, and writes down
what was launched, under which test, and how each test ended. Importing this package imports neither triton nor torch.
"""
