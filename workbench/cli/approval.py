"""A person approves ideas and kernels in the terminal, one after the other."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TextIO

from workbench.cli import text
from workbench.records import Candidate, Idea
from workbench.search import Search

_WIDTH = 88


class Stopped(Exception):
    """The person wants no more questions; what is undecided stays undecided."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where questions are put and answers come from."""

    out: TextIO
    answers: TextIO

    def say(self, words: str) -> None:
        self.out.write(f"{text.printable(words)}\n")

    def ask(self, question: str) -> str:
        """A line, without spaces around it; raises Stopped at the end of the input."""
        self.out.write(f"{question} ")
        self.out.flush()
        line = self.answers.readline()
        if not line:
            raise Stopped
        return line.strip()


def decide(search: Search, terminal: Terminal) -> None:
    """Ask about everything that waits for a decision; raises Stopped when the person has enough."""
    missing = search.missing
    _decide_ideas(search, missing.ideas, terminal)
    _decide_kernels(search, missing.candidates, terminal)


def _decide_ideas(search: Search, ideas: Iterable[Idea], terminal: Terminal) -> None:
    waiting = list(ideas)
    while waiting:
        idea = waiting.pop(0)
        terminal.say(_described(search, idea))
        match terminal.ask("[y]es, [n]o, [r]eword, [a]ll of these, [q]uit?"):
            case "y" | "yes":
                search.approve(idea)
            case "n" | "no":
                search.reject(idea, note=terminal.ask("why (may be empty)?"))
            case "r" | "reword":
                title = terminal.ask("title (empty: as it is)?")
                hypothesis = terminal.ask("hypothesis (empty: as it is)?")
                waiting.insert(0, search.reword(idea.number, title or None, hypothesis or None))
            case "a" | "all":
                search.approve(idea, waiting)
                return
            case "q" | "quit":
                raise Stopped
            case _:
                waiting.insert(0, idea)


def _decide_kernels(search: Search, kernels: Iterable[Candidate], terminal: Terminal) -> None:
    waiting = list(kernels)
    while waiting:
        kernel = waiting.pop(0)
        title = text.idea_title(search.history, kernel.number)
        terminal.say(f"\n{kernel.source}\nkernel {kernel.number} · {kernel.address} · {title}")
        match terminal.ask("build and run it: [y]es, [n]o, [a]ll of these, [q]uit?"):
            case "y" | "yes":
                search.approve(kernel)
            case "n" | "no":
                search.reject(kernel, note=terminal.ask("why (may be empty)?"))
            case "a" | "all":
                search.approve(kernel, waiting)
                return
            case "q" | "quit":
                raise Stopped
            case _:
                waiting.insert(0, kernel)


def _described(search: Search, idea: Idea) -> str:
    history = search.history
    words = [f"idea {idea.number} · {history.address(idea)}", f"by {idea.author}"]
    words[1:1] = [idea.category.value] if idea.category else []
    body = textwrap.indent(textwrap.fill(idea.hypothesis, _WIDTH), "  ")
    return f"\n{' · '.join(words)}\n  {idea.title}\n{body}"
