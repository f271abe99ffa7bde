"""`python -m robota`."""

from robota.cli.main import entry

if __name__ == "__main__":
    entry()
