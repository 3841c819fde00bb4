"""``python -m icecore`` is the command line."""

from icecore.cli import main

main()
