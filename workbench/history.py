"""One run, read-only: ranking, lineage, best so far, what is missing; pandas frames."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench import metrics
from workbench.records import (
    Baseline,
    Branch,
    Candidate,
    Completion,
    Decision,
    Evaluation,
    Idea,
    Record,
    Run,
    Status,
    Subject,
)

if typing.TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class History:
    """Everything a run recorded, as it was when this snapshot was taken."""

    run: Run
    branches: tuple[Branch, ...] = ()
    all_ideas: tuple[Idea, ...] = ()  # reworded ones included
    decisions: tuple[Decision, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    completions: tuple[Completion, ...] = ()
    baselines: tuple[Baseline, ...] = ()

    @classmethod
    def of(cls, records: Iterable[Record]) -> History:
        """A history from records in the order they were made; the first is the Run."""
        run: Run | None = None
        parts: dict[type, list[Record]] = {}
        for record in records:
            if isinstance(record, Run):
                run = record
            else:
                parts.setdefault(type(record), []).append(record)
        if run is None:
            raise ValueError("a history begins with its Run")
        return cls(
            run=run,
            branches=_typed(parts, Branch),
            all_ideas=_typed(parts, Idea),
            decisions=_typed(parts, Decision),
            candidates=_typed(parts, Candidate),
            evaluations=_typed(parts, Evaluation),
            completions=_typed(parts, Completion),
            baselines=_typed(parts, Baseline),
        )

    # -- looking things up ---------------------------------------------------------------

    @cached_property
    def ideas(self) -> tuple[Idea, ...]:
        """Ideas as they stand: a reworded idea is represented by its last wording."""
        replaced = {idea.rewords for idea in self.all_ideas}
        return tuple(idea for idea in self.all_ideas if idea.number not in replaced)

    def branch(self, number: int) -> Branch:
        return self._branch_by_number[number]

    def idea(self, number: int) -> Idea:
        return self._idea_by_number[number]

    def candidate(self, number: int) -> Candidate:
        return self._candidate_by_number[number]

    def evaluation(self, candidate: int) -> Evaluation | None:
        """The last evaluation of a candidate, or None while it has none."""
        return self._evaluation_by_candidate.get(candidate)

    def measurements(self, candidate: int) -> int:
        """How often a candidate was evaluated; the last time counts."""
        return sum(e.candidate == candidate for e in self.evaluations)

    def decision(self, subject: Subject, number: int) -> Decision | None:
        """The decision in force on an idea or a candidate; None while it waits for one."""
        return self._decision_by_subject.get((subject, number))

    def is_approved(self, subject: Subject, number: int) -> bool:
        decision = self.decision(subject, number)
        return decision is not None and decision.approved

    def completion(self, address: str) -> Completion | None:
        return self._completion_by_address.get(address)

    def baseline(self, name: str) -> Baseline | None:
        return next((b for b in reversed(self.baselines) if b.name == name), None)

    def by_address(self, address: str) -> Candidate | None:
        """The candidate a model wrote at round/branch/idea/sample."""
        return next((c for c in self.candidates if c.address == address), None)

    # -- structure -----------------------------------------------------------------------

    @property
    def round(self) -> int:
        """Number of the round under way; -1 before the first."""
        return max((b.round for b in self.branches), default=-1)

    def branches_of(self, round: int) -> tuple[Branch, ...]:
        return tuple(b for b in self.branches if b.round == round)

    def ideas_of(self, branch: int) -> tuple[Idea, ...]:
        return tuple(i for i in self.ideas if i.branch == branch)

    def candidates_of(self, idea: int) -> tuple[Candidate, ...]:
        """Candidates of an idea, of its earlier wordings too."""
        family = {idea}
        while (old := self.idea(min(family)).rewords) is not None:
            family.add(old)
        return tuple(c for c in self.candidates if c.idea in family)

    def address(self, idea: Idea) -> str:
        return f"{self.branch(idea.branch).address}/{idea.index}"

    def repaired(self, candidate: int) -> bool:
        """Whether a candidate already had its repair turn."""
        address = self.candidate(candidate).address
        return address is not None and self.completion(f"{address}/repair") is not None

    def lineage(self, candidate: int) -> tuple[Candidate, ...]:
        """A candidate's ancestors by first parent, oldest first, itself last."""
        line = [self.candidate(candidate)]
        while line[-1].parents:
            line.append(self.candidate(line[-1].parents[0]))
        return tuple(reversed(line))

    # -- merit ---------------------------------------------------------------------------

    def speedup(self, candidate: int) -> metrics.Interval | None:
        """Speedup over eager PyTorch with its interval; None unless the candidate passed."""
        evaluation = self.evaluation(candidate)
        if evaluation is None or evaluation.status is not Status.passed:
            return None
        assert evaluation.timing is not None
        return metrics.speedup(evaluation.timing)

    def duration_us(self, candidate: int) -> metrics.Interval | None:
        """Median microseconds of one launch with its interval; None unless it passed."""
        evaluation = self.evaluation(candidate)
        if evaluation is None or evaluation.status is not Status.passed:
            return None
        assert evaluation.timing is not None
        return metrics.duration_us(evaluation.timing)

    def ranking(self, *, until_round: int | None = None) -> tuple[Candidate, ...]:
        """Candidates that passed, best first by the lower bound of their speedup.

        Near-duplicates (equal but for comments and white space) appear once, the best one.
        """
        scored = [
            (interval.low, -c.number, c)
            for c in self.candidates
            if (until_round is None or c.round <= until_round)
            and (interval := self.speedup(c.number)) is not None
        ]
        seen: set[str] = set()
        ranked = []
        for _, _, candidate in sorted(scored, key=lambda s: s[:2], reverse=True):
            if (text := normalised(candidate.source)) not in seen:
                seen.add(text)
                ranked.append(candidate)
        return tuple(ranked)

    @property
    def best(self) -> Candidate | None:
        """The passing candidate with the highest lower bound of its speedup."""
        ranked = self.ranking()
        return ranked[0] if ranked else None

    @cached_property
    def floor_us(self) -> float:
        return metrics.floor_us(self.run.signature, self.run.environment)

    def describe(self, candidate: int) -> str:
        """One line a person would say, e.g. "Candidate 31 · round 4 · 2.31x · 182 µs ±0.4 %"."""
        words = [f"Candidate {candidate}", f"round {self.candidate(candidate).round}"]
        evaluation = self.evaluation(candidate)
        ratio, time = self.speedup(candidate), self.duration_us(candidate)
        if ratio and time:
            words += [f"{ratio.value:.2f}x", f"{time.value:.4g} µs ±{time.halfwidth:.1%}"]
        elif evaluation:
            words.append(evaluation.status.value)
        else:
            words.append("not evaluated")
        return " · ".join(words)

    # -- frames --------------------------------------------------------------------------

    def frame(self) -> pd.DataFrame:
        """One row a candidate: lineage, verdict, times in µs, speedups with their bounds."""
        import pandas as pd

        return pd.DataFrame([self._row(c) for c in self.candidates], columns=_COLUMNS)

    def ideas_frame(self) -> pd.DataFrame:
        """One row an idea: its words, decision, kernels written, kernels passed, best speedup."""
        import pandas as pd

        return pd.DataFrame([self._idea_row(i) for i in self.ideas], columns=_IDEA_COLUMNS)

    def _row(self, candidate: Candidate) -> dict[str, object]:
        evaluation = self.evaluation(candidate.number)
        idea = self.idea(candidate.idea) if candidate.idea is not None else None
        time, ratio = self.duration_us(candidate.number), self.speedup(candidate.number)
        check = evaluation.check if evaluation else None
        return {
            "candidate": candidate.number,
            "round": candidate.round,
            "address": candidate.address,
            "parent": candidate.parents[0] if candidate.parents else None,
            "idea": idea.title if idea else None,
            "category": idea.category.value if idea and idea.category else None,
            "author": candidate.author,
            "status": evaluation.status.value if evaluation else None,
            "detail": evaluation.detail if evaluation else None,
            "precision": check.precision if check else None,
            "time_us": time.value if time else None,
            "time_low_us": time.low if time else None,
            "time_high_us": time.high if time else None,
            "speedup": ratio.value if ratio else None,
            "speedup_low": ratio.low if ratio else None,
            "speedup_high": ratio.high if ratio else None,
            "of_floor": self.floor_us / time.value if time else None,
        }

    def _idea_row(self, idea: Idea) -> dict[str, object]:
        decision = self.decision("idea", idea.number)
        kernels = self.candidates_of(idea.number)
        ratios = [r.value for c in kernels if (r := self.speedup(c.number)) is not None]
        return {
            "idea": idea.number,
            "round": self.branch(idea.branch).round,
            "title": idea.title,
            "hypothesis": idea.hypothesis,
            "category": idea.category.value if idea.category else None,
            "author": idea.author,
            "approved": decision.approved if decision else None,
            "kernels": len(kernels),
            "passed": len(ratios),
            "speedup": max(ratios, default=None),
        }

    # -- indexes -------------------------------------------------------------------------

    @cached_property
    def _branch_by_number(self) -> dict[int, Branch]:
        return {b.number: b for b in self.branches}

    @cached_property
    def _idea_by_number(self) -> dict[int, Idea]:
        return {i.number: i for i in self.all_ideas}

    @cached_property
    def _candidate_by_number(self) -> dict[int, Candidate]:
        return {c.number: c for c in self.candidates}

    @cached_property
    def _evaluation_by_candidate(self) -> dict[int, Evaluation]:
        return {e.candidate: e for e in self.evaluations}

    @cached_property
    def _decision_by_subject(self) -> dict[tuple[Subject, int], Decision]:
        return {(d.subject, d.number): d for d in self.decisions}

    @cached_property
    def _completion_by_address(self) -> dict[str, Completion]:
        return {c.address: c for c in self.completions}


_COLUMNS = (
    "candidate round address parent idea category author status detail precision "
    "time_us time_low_us time_high_us speedup speedup_low speedup_high of_floor"
).split()
_IDEA_COLUMNS = (
    "idea round title hypothesis category author approved kernels passed speedup"
).split()

_R = typing.TypeVar("_R", bound=Record)


def _typed(parts: dict[type, list[Record]], kind: type[_R]) -> tuple[_R, ...]:
    return tuple(typing.cast(Sequence[_R], parts.get(kind, ())))


_NOISE = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|\s+', re.S)


def normalised(source: str) -> str:
    """A source without comments and white space, to tell near-duplicates; strings stay."""
    return _NOISE.sub(lambda found: found[0] if found[0][0] == '"' else "", source)
