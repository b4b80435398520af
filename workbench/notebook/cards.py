"""Ideas and new kernels as cards that a person approves, rejects or rewords."""

from __future__ import annotations

import functools
from collections.abc import Callable

import ipywidgets

from workbench.history import History
from workbench.notebook import words
from workbench.notebook.desk import Desk, button
from workbench.records import Candidate, Category, Idea, Subject, WorkbenchError

Edit = Callable[[int], object]
WIDE = {"width": "98%"}


class _Choice(ipywidgets.HBox):  # type: ignore[misc]
    """Approve and Reject, for an idea or a candidate as it stands."""

    def __init__(self, desk: Desk, approve: str, what: str) -> None:
        self._about: list[Idea | Candidate] = []
        search = desk.search
        self._approve = button(
            approve, lambda: search.approve(self._about), desk, tip=f"{approve}: {what}"
        )
        self._reject = button(
            "Reject", lambda: search.reject(self._about), desk, tip=f"Reject: {what}"
        )
        super().__init__([self._approve, self._reject])

    def update(self, history: History, about: Idea | Candidate) -> None:
        self._about = [about]
        subject: Subject = "idea" if isinstance(about, Idea) else "candidate"
        decision = history.decision(subject, about.number)
        self._approve.disabled = decision is not None and decision.approved
        self._reject.disabled = decision is not None and not decision.approved


class IdeaCard(ipywidgets.VBox):  # type: ignore[misc]
    """One idea: what it says, what became of it, and what can be done with it."""

    def __init__(self, desk: Desk, idea: Idea) -> None:
        self._search, self._idea = desk.search, idea
        what = f"idea {idea.number}"
        self._text = ipywidgets.HTML()
        self._choice = _Choice(desk, "Approve", what)
        reword = button("Reword", self._edit, desk, tip=f"Reword: {what}")
        self._buttons = ipywidgets.HBox([self._choice, reword])
        self._title = ipywidgets.Text(description="Title", layout=WIDE)
        self._hypothesis = ipywidgets.Textarea(description="Hypothesis", rows=3, layout=WIDE)
        keep = button("Keep the new words", self._keep, desk, tip=f"In place of the old: {what}")
        drop = button("Leave it as it was", self._close, desk, tip=f"Drop these words: {what}")
        self._form = [self._title, self._hypothesis, ipywidgets.HBox([keep, drop])]
        super().__init__([self._text, self._buttons])
        self.add_class("wb-card")

    def update(self, history: History, idea: Idea) -> None:
        self._idea = idea
        self._text.value = words.idea_card(history, idea)
        self._choice.update(history, idea)
        if history.candidates_of(idea.number):  # too late for another decision
            self.children = [self._text]

    def _edit(self) -> None:
        self._title.value, self._hypothesis.value = self._idea.title, self._idea.hypothesis
        self.children = [self._text, *self._form]

    def _close(self) -> None:
        self.children = [self._text, self._buttons]

    def _keep(self) -> None:
        new = {"title": self._title.value, "hypothesis": self._hypothesis.value}
        self._search.reword(self._idea.number, **new)
        self._close()


class OwnIdea(ipywidgets.VBox):  # type: ignore[misc]
    """A form for an idea of one's own, which needs nobody else's approval; hidden at first."""

    def __init__(self, desk: Desk) -> None:
        self._search = desk.search
        self._title = ipywidgets.Text(description="Title", layout=WIDE)
        self._hypothesis = ipywidgets.Textarea(description="Hypothesis", rows=3, layout=WIDE)
        categories = [(category.value, category) for category in Category]
        self._category = ipywidgets.Dropdown(description="Category", options=categories)
        add = button("Add this idea", self._add, desk, tip="It is approved with that")
        self._form = [self._title, self._hypothesis, self._category, ipywidgets.HBox([add])]
        self._toggle = ipywidgets.ToggleButton(
            description="An idea of your own", layout={"width": "auto"}
        )
        self._toggle.observe(lambda _: self._fold(), "value")
        self._row = ipywidgets.HBox([self._toggle])
        super().__init__([self._row])
        self.add_class("wb-card")

    def _fold(self) -> None:
        self.children = [self._row, *(self._form if self._toggle.value else [])]

    def _add(self) -> None:
        title, hypothesis = self._title.value, self._hypothesis.value
        if not title.strip():
            raise WorkbenchError("an idea needs a title")
        self._search.approve(self._search.add_idea(title, hypothesis, self._category.value))
        self._title.value = self._hypothesis.value = ""
        self._toggle.value = False


class KernelCard(ipywidgets.VBox):  # type: ignore[misc]
    """One kernel that was not run yet: its source, and whether it may run."""

    def __init__(self, desk: Desk, candidate: Candidate, edit: Edit | None) -> None:
        what = f"kernel {candidate.number}"
        self._text = ipywidgets.HTML()
        self._choice = _Choice(desk, "Approve to run", what)
        code = ipywidgets.HTML(words.source(candidate, is_open=True))
        buttons = [self._choice]
        if edit is not None:
            opens = functools.partial(edit, candidate.number)
            buttons.append(button("Edit", opens, desk, tip=f"Open in the editor: {what}"))
        super().__init__([self._text, code, ipywidgets.HBox(buttons)])
        self.add_class("wb-card")

    def update(self, history: History, candidate: Candidate) -> None:
        self._text.value = words.kernel_card(history, candidate)
        self._choice.update(history, candidate)


class IdeaCards(ipywidgets.VBox):  # type: ignore[misc]
    """The ideas of the round under way as cards; those of earlier rounds as text."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._cards: dict[int, IdeaCard] = {}
        self._all = _approve_all(desk, "ideas", lambda: desk.search.missing.ideas)
        self._own = OwnIdea(desk)
        self._earlier = ipywidgets.HTML()
        super().__init__()
        desk.follow(self._update)

    def _update(self, history: History) -> None:
        current = [i for i in history.ideas if history.branch(i.branch).round == history.round]
        cards = {}
        for idea in sorted(current, key=lambda i: (i.branch, i.index)):
            cards[idea.number] = self._cards.get(idea.number) or IdeaCard(self._desk, idea)
            cards[idea.number].update(history, idea)
        self._cards = cards
        undecided = any(history.decision("idea", i.number) is None for i in current)
        self._earlier.value = words.earlier_ideas(history)
        self.children = (
            *cards.values(), *([self._all] if undecided else []), self._own, self._earlier
        )  # fmt: skip


class KernelCards(ipywidgets.VBox):  # type: ignore[misc]
    """The kernels that may still be run, each with its source."""

    def __init__(self, desk: Desk, edit: Edit | None = None) -> None:
        self._desk, self._edit = desk, edit
        self._cards: dict[int, KernelCard] = {}
        self._all = _approve_all(desk, "kernels", lambda: desk.search.missing.candidates)
        self._none = ipywidgets.HTML("<p>No kernel waits to be run.</p>")
        super().__init__()
        desk.follow(self._update)

    def _update(self, history: History) -> None:
        cards = {}
        for candidate in (c for c in history.candidates if _may_run(history, c)):
            number = candidate.number
            card = self._cards.get(number) or KernelCard(self._desk, candidate, self._edit)
            card.update(history, candidate)
            cards[number] = card
        self._cards = cards
        undecided = any(history.decision("candidate", n) is None for n in cards)
        last = [self._all] if undecided else [] if cards else [self._none]
        self.children = (*cards.values(), *last)


def _approve_all(
    desk: Desk, what: str, undecided: Callable[[], tuple[Idea, ...] | tuple[Candidate, ...]]
) -> ipywidgets.HBox:
    search = desk.search
    tip = f"Approve the {what} that wait for a decision"
    every = button(f"Approve all {what}", lambda: search.approve(undecided()), desk, tip=tip)
    return ipywidgets.HBox([every])


def _may_run(history: History, candidate: Candidate) -> bool:
    """Not run yet; those turned down stay for the round, so that one can think again."""
    if history.evaluation(candidate.number) is not None:
        return False
    decision = history.decision("candidate", candidate.number)
    return decision is None or decision.approved or candidate.round == history.round
