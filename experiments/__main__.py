"""``python -m experiments`` is the command ``serdes``."""

from experiments.cli import main

if __name__ == "__main__":
    main()
