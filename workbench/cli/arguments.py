"""What can be typed after `workbench`."""

from __future__ import annotations

import argparse
from typing import get_args

from workbench.records import Backend, Tier

EXPORTS = ("recording", "folder", "training", "kernelbench")


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    import workbench

    top = argparse.ArgumentParser(
        prog="workbench",
        description="Search for fast GPU kernels with language models, and believe the numbers.",
    )
    top.add_argument("--version", action="version", version=f"workbench {workbench.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, summary: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=summary, description=f"{summary}.")
        made.add_argument(
            "--json", action="store_true", help="one JSON document on stdout, all else on stderr"
        )
        return made

    _problems(command("problems", "List problems: shapes, bytes, flop, the floor of this machine"))
    _run(command("run", "Search for a faster kernel, or carry on a search"))
    show = command("show", "Show a run: every verdict, the best, the baselines")
    show.add_argument("store", metavar="STORE")
    _evaluate(command("evaluate", "Build, check and time one kernel file"))
    _export(command("export", "Write a run as other people's files"))
    figures = command("figures", "Draw a run, for print and for the screen")
    figures.add_argument("store", metavar="STORE", nargs="+", help="several are compared as well")
    figures.add_argument("--out", metavar="FOLDER", default="figures", help="default: figures")
    command("doctor", "Say what this machine has, what it lacks, and the way to mend it")
    demo = command("demo", "Replay three recorded searches here: every kernel judged afresh")
    demo.add_argument("--out", metavar="FOLDER", default="demo", help="default: demo")
    _backend(demo)
    return top


def _problems(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "path", metavar="PATH", nargs="?", help="a file or folder; default: our own problems"
    )
    _backend(made)


def _run(made: argparse.ArgumentParser) -> None:
    _problem(made)
    _backend(made)
    made.add_argument(
        "--store", metavar="FILE", help="made, or carried on; default: PROBLEM-BACKEND.db"
    )
    model = made.add_argument_group("who has the ideas and writes the kernels (one of)")
    one = model.add_mutually_exclusive_group()
    one.add_argument("--replay", metavar="FILE", help="a recording of an earlier search")
    one.add_argument("--model", metavar="NAME", help="a model by its name, e.g. gpt-5.5")
    one.add_argument("--human", metavar="FOLDER", help="a person, by files: prompt out, reply in")
    model.add_argument("--base-url", metavar="URL", help="of --model: any OpenAI-compatible server")
    model.add_argument("--preset", metavar="NAME", help="of --model: a provider's settings")
    model.add_argument(
        "--wait", metavar="SECONDS", type=float, help="of --human, for a reply; default: for ever"
    )
    made.add_argument("--rounds", metavar="N", type=int, help="default: 5, or the recording's")
    made.add_argument(
        "--beam", metavar="W,I,S", type=_beam,
        help="kernels that seed a round, ideas each, kernels an idea; default 2,3,2",
    )  # fmt: skip
    made.add_argument("--seed", metavar="N", type=int, help="default: 0")
    made.add_argument(
        "--ask", action="store_true", help="approve each idea and each kernel, here in the terminal"
    )
    _tier(made)


def _evaluate(made: argparse.ArgumentParser) -> None:
    _problem(made)
    made.add_argument("kernel", metavar="KERNEL", help="a .cpp or .cu file, or a KernelBench .py")
    _backend(made)
    _tier(made)


def _export(made: argparse.ArgumentParser) -> None:
    made.add_argument("store", metavar="STORE")
    made.add_argument("kind", choices=EXPORTS, metavar="KIND", help=", ".join(EXPORTS))
    made.add_argument("--out", metavar="PATH", help="default: named after the store")
    made.add_argument(
        "--candidate", metavar="N", type=int, help="of kernelbench: which kernel; default: the best"
    )
    made.add_argument("--author", metavar="NAME", help="of recording: who wrote what is in it")
    made.add_argument(
        "--provenance", metavar="TEXT", help="of recording: how it came about, in a sentence or two"
    )
    made.add_argument(
        "--license", metavar="NAME", default="not stated", help="of recording: e.g. MIT"
    )


def _problem(made: argparse.ArgumentParser) -> None:
    made.add_argument("problem", metavar="PROBLEM", help="a file, a folder, or a name of ours")
    made.add_argument(
        "--size", metavar="NAME=VALUE", action="append", default=[],
        help="another value for one of the problem's constants; may be repeated",
    )  # fmt: skip


def _backend(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--backend", choices=get_args(Backend), help="default: cuda where there is a GPU and nvcc"
    )


def _tier(made: argparse.ArgumentParser) -> None:
    made.add_argument("--tier", choices=get_args(Tier), help="how long to measure; default: search")


def _beam(text: str) -> tuple[int, int, int]:
    try:
        width, ideas, samples = (int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"three numbers like 2,3,2, not {text!r}") from None
    return width, ideas, samples
