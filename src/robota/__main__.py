"""`python -m robota`."""

from robota.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
