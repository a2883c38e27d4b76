"""`python -m tritonport` is the `tritonport` command."""

from tritonport.cli import main

main()
