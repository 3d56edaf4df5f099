"""`python -m ingot` is `ingot`."""

from ingot.cli import main

main()
