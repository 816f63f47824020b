"""python -m minidynamo: the configuration. python -m minidynamo run SCRIPT: a program for torch, without torch."""

import argparse
import sys

USAGE = """\
python -m minidynamo                               prints versions, processor and flags
python -m minidynamo run SCRIPT ARGUMENTS...       runs a program with minidynamo in torch's place
python -m minidynamo run --names SCRIPT            lists which names of torch it uses that are missing; runs nothing"""


def main() -> int:
    if len(sys.argv) == 1:
        from ._show_config import show_config

        print(show_config())
        return 0
    parser = argparse.ArgumentParser(prog="python -m minidynamo", usage=USAGE)
    parser.add_argument("command", choices=["run"], help="run a program with minidynamo in torch's place")
    parser.add_argument(
        "--names", action="store_true", help="list the missing names that the program uses, and do not run it"
    )
    parser.add_argument("script", help="the program's file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what sys.argv holds behind the script")
    given = parser.parse_args()
    if given.names:
        from .compat import used_names

        return used_names.report(given.script)
    from .compat import script

    return script.run(given.script, given.arguments)


if __name__ == "__main__":
    sys.exit(main())
