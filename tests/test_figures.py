"""Figures: the numbers they are drawn from, and files that can be printed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from itertools import combinations, pairwise

import histories
import pytest

from workbench import figures
from workbench.figures import style
from workbench.records import Baseline, Status

FIGURES = [figures.trajectory, figures.lineage, figures.categories]
CASES = {
    "five rounds": histories.searched(),
    "empty": histories.empty(),
    "nothing passed": histories.nothing_passed(),
    "one round": histories.searched(rounds=1),
    "sixty": histories.searched(width=4, seed=3),
}


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "_"))
def history(request):
    return CASES[request.param]


def test_importing_figures_loads_neither_plotly_nor_matplotlib():
    code = (
        "import sys, workbench.figures;"
        "print([m for m in ('plotly', 'matplotlib', 'pandas', 'torch') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# -- data ----------------------------------------------------------------------------------


def test_a_trajectory_has_a_row_a_candidate_and_a_row_a_line():
    history = CASES["five rounds"]
    data = figures.trajectory_data(history)
    candidates = data[data["kind"] == "candidate"]
    assert sorted(candidates["candidate"]) == [c.number for c in history.candidates]
    for _, row in candidates.iterrows():
        ratio = history.speedup(row["candidate"])
        if ratio is None:
            assert row["status"] != "passed"
            assert row["speedup"] != row["speedup"]
        else:
            bounds = (row["speedup"], row["speedup_low"], row["speedup_high"])
            assert bounds == (ratio.value, ratio.low, ratio.high)
    lines = data[data["kind"] != "candidate"].set_index("name")
    assert list(lines.index) == ["eager", "compile", "floor"]  # max-autotune was not timed
    assert lines.loc["eager", "speedup"] == 1
    assert lines.loc["eager", "time_us"] == histories.EAGER_US
    assert lines.loc["compile", "speedup"] == pytest.approx(1.4, rel=1e-3)
    assert lines.loc["floor", "time_us"] == history.floor_us
    assert lines.loc["floor", "speedup"] == histories.EAGER_US / history.floor_us


def test_candidates_stand_in_their_round_in_the_order_they_were_made(history):
    data = figures.trajectory_data(history)
    data = data[data["kind"] == "candidate"].sort_values("candidate")
    assert ((data["x"] - data["round"]).abs() < 0.35).all()
    for _, of_round in data.groupby("round"):
        assert of_round["x"].is_monotonic_increasing
        assert of_round["x"].is_unique


def test_the_best_so_far_only_rises_and_ends_at_the_best():
    history = CASES["five rounds"]
    data = figures.trajectory_data(history)
    best = data.loc[data["kind"] == "candidate", "best_speedup"].dropna()
    assert best.is_monotonic_increasing
    assert data.loc[data["kind"] == "candidate", "best"].iloc[-1] == history.best.number


def test_the_path_is_the_winners_lineage():
    history = CASES["five rounds"]
    for data in (figures.trajectory_data(history), figures.lineage_data(history)):
        path = data[data["path"].notna()].sort_values("path")
        expected = [c.number for c in history.lineage(history.best.number)]
        assert path["candidate"].tolist() == expected
    assert history.best.number in expected
    assert any(history.candidate(n).author == "person" for n in expected)


def test_a_family_tree_has_no_two_candidates_in_one_place(history):
    data = figures.lineage_data(history)
    assert not data.duplicated(["x", "row"]).any()
    children = data[data["parent"].notna()]
    left = data.set_index("candidate")["x"]
    assert (children["x"].to_numpy() > left[children["parent"]].to_numpy()).all()


def test_the_winners_line_is_the_top_row():
    data = figures.lineage_data(CASES["five rounds"])
    assert set(data.loc[data["path"].notna(), "row"]) == {0}


def test_an_outcome_is_judged_against_the_parent():
    history = CASES["five rounds"]
    data = figures.categories_data(history).set_index("candidate")
    for candidate in history.candidates:
        row, ratio = data.loc[candidate.number], history.speedup(candidate.number)
        if ratio is None:
            assert row["outcome"] == history.evaluation(candidate.number).status.value
        elif candidate.parents:
            over = ratio.value / history.speedup(candidate.parents[0]).value
            assert row["against"] == "parent"
            assert row["gain"] == pytest.approx(over)
            assert row["outcome"] == ("faster" if row["gain_low"] > 1.01 else "not faster")
        else:
            assert (row["against"], row["gain"]) == ("eager", ratio.value)
    assert data.loc[0, "group"] == "translation"
    assert (data.loc[data["author"] == "person", "group"] == "by hand").all()


def test_a_comparison_begins_where_every_run_has_a_kernel_and_ends_with_the_shortest():
    from workbench.figures.comparison import bands

    runs = [histories.searched(seed=s, rounds=r) for s, r in ((1, 5), (2, 3), (5, 4))]
    data = figures.comparison_data({"beam": runs})
    assert len(data) == sum(len(h.candidates) for h in runs)
    band = bands(data)["beam"]
    assert band.index[-1] == min(len(h.candidates) for h in runs)
    at_end = [h.speedup(_best_of_first(h, band.index[-1])).value for h in runs]
    assert band["middle"].iloc[-1] == sorted(at_end)[1]


def test_runs_of_different_problems_are_not_compared():
    from dataclasses import replace

    one = histories.searched(rounds=1)
    other = replace(one, run=replace(one.run, problem=replace(one.run.problem, source="x = 1")))
    with pytest.raises(ValueError, match="one problem on one device"):
        figures.comparison({"a": one, "b": other})


def _best_of_first(history, count):
    passed = [c.number for c in history.candidates[:count] if history.speedup(c.number)]
    return max(passed, key=lambda n: history.speedup(n).low)


# -- screen --------------------------------------------------------------------------------


@pytest.mark.parametrize("figure", FIGURES)
def test_a_screen_figure_reads_on_any_background(figure, history):
    drawn = json.loads(figure(history).plotly().to_json())
    layout = drawn["layout"]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert layout["font"]["color"] == "#7f7f7f"
    assert "$" not in json.dumps([t.get("name") for t in drawn["data"]])


def test_every_candidate_is_one_mark_on_screen():
    history = CASES["five rounds"]
    marks = [t for t in figures.trajectory(history).plotly().data if t.mode == "markers"]
    assert sum(len(t.x) for t in marks) == len(history.candidates)


def test_what_models_wrote_is_text_on_screen_not_markup():
    text = style.hover("case <normal>: error 3e-1", "a\n<b>b</b>")
    assert text == "case &lt;normal&gt;: error 3e-1<br>a &lt;b&gt;b&lt;/b&gt;"
    shown = "".join(
        h
        for t in figures.trajectory(CASES["five rounds"]).plotly().data
        if isinstance(t.hovertext, tuple)
        for h in t.hovertext
    )
    assert "&lt;normal&gt;" in shown
    assert "<normal>" not in shown


def test_a_notebook_gets_a_plotly_bundle_and_words():
    bundle = figures.trajectory(CASES["five rounds"])._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.plotly.v1+json", "text/plain"}
    assert "Best: Candidate" in bundle["text/plain"]


def test_a_caption_says_where_a_number_comes_from():
    caption = figures.trajectory(CASES["five rounds"]).caption
    for part in ("linear_relu", "AMD EPYC 7B13", "no GPU driver", "torch 2.13.0", "2026-12-01"):
        assert part in caption
    assert "95 % confidence intervals of the median" in caption
    assert "24 paired blocks" in caption


def test_time_is_another_axis_of_the_same_data():
    history = CASES["five rounds"]
    drawn = figures.trajectory(history, y="time").plotly()
    assert drawn.layout.yaxis.title.text == "time (µs)"
    shown = [v for t in drawn.data if t.mode == "markers" and t.yaxis is None for v in t.y]
    expected = [t.value for c in history.candidates if (t := history.duration_us(c.number))]
    assert sorted(shown) == sorted(expected)
    with pytest.raises(ValueError, match="'speedup' or 'time'"):
        figures.trajectory(history, y="flops")


# -- print ---------------------------------------------------------------------------------


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("suffix", [".pdf", ".svg", ".png", ".html", ".csv"])
def test_the_same_data_give_the_same_bytes(figure, suffix, tmp_path):
    once = figure(CASES["five rounds"]).save(tmp_path / f"one{suffix}").read_bytes()
    again = figure(histories.searched()).save(tmp_path / f"two{suffix}").read_bytes()
    assert once == again


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("width", ["neurips", "icml"])
def test_a_figure_is_as_wide_as_asked_and_nothing_is_cut_off(figure, width, history):
    drawn = figure(history).matplotlib(width)
    assert drawn.get_figwidth() == style.WIDTHS[width]
    drawn.draw_without_rendering()
    page, content = drawn.bbox, drawn.get_tightbbox().padded(-0.02)
    assert content.x0 >= 0
    assert content.y0 >= 0
    assert content.x1 <= page.width / drawn.dpi
    assert content.y1 <= page.height / drawn.dpi


@pytest.mark.parametrize("y", ["speedup", "time"])
@pytest.mark.parametrize("width", ["neurips", "icml"])
def test_printed_labels_do_not_overlap(y, width, history):
    drawn = figures.trajectory(history, y=y).matplotlib(width)
    drawn.draw_without_rendering()
    texts = [t for t in drawn.axes[0].texts if t.get_text()]
    boxes = [t.get_window_extent() for t in texts if t.get_text()]
    for (a, first), (b, second) in combinations(zip(boxes, texts, strict=True), 2):
        assert not a.overlaps(b), (first.get_text(), second.get_text())


def test_close_baselines_keep_legible_names():
    from dataclasses import replace

    history = CASES["five rounds"]
    names = ("compile", "max-autotune", "other")
    close = tuple(
        Baseline(name=n, timing=histories.timing(1.4 + 0.001 * i)) for i, n in enumerate(names)
    )
    history = replace(history, baselines=(*history.baselines[:1], *close))
    drawn = figures.trajectory(history).matplotlib("icml")
    drawn.draw_without_rendering()
    names = [t for t in drawn.axes[0].texts if re.match("compile|max|other|eager", t.get_text())]
    boxes = sorted((t.get_window_extent() for t in names), key=lambda b: b.y0)
    assert len(boxes) == 4
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


@pytest.mark.skipif(shutil.which("pdffonts") is None, reason="poppler's pdffonts is not installed")
@pytest.mark.parametrize("figure", FIGURES)
def test_a_pdf_has_its_fonts_embedded_as_truetype(figure, tmp_path):
    file = figure(CASES["five rounds"]).save(tmp_path / "figure.pdf", width="icml")
    run = subprocess.run(["pdffonts", str(file)], capture_output=True, text=True, check=True)
    fonts = run.stdout.splitlines()[2:]
    assert fonts
    assert all("TrueType" in f and "STIX" in f and " yes yes " in f for f in fonts), run.stdout
    info = subprocess.run(["pdfinfo", str(file)], capture_output=True, text=True, check=True).stdout
    assert "CreationDate" not in info
    assert re.search(r"Page size:\s+234 x", info)


def test_an_svg_keeps_its_words(tmp_path):
    text = figures.trajectory(CASES["five rounds"]).save(tmp_path / "f.svg").read_text()
    assert "speedup over eager" in text
    assert "compile 1.40×" in text
    assert "<dc:date>" not in text


def test_a_page_needs_no_network(tmp_path):
    page = figures.trajectory(CASES["five rounds"]).save(tmp_path / "f.html").read_text()
    assert "Plotly.newPlot" in page
    assert not re.findall(r'<(?:script|link)[^>]*(?:src|href)="http', page)
    assert "95 % confidence" in page


def test_an_unknown_suffix_or_width_says_what_there_is(tmp_path):
    figure = figures.trajectory(CASES["one round"])
    with pytest.raises(ValueError, match=r"'\.gif'.*\.pdf"):
        figure.save(tmp_path / "f.gif")
    with pytest.raises(ValueError, match="neurips"):
        figure.save(tmp_path / "f.pdf", width="nature")


# -- style ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ends", [(0.8, 1.25), (0.3, 12), (0.01, 3000), (0.99, 1.6), (3, 8), (1.0, 2.99), (140, 900)]
)
@pytest.mark.parametrize("most", [4, 10])
def test_ticks_are_few_and_inside(ends, most):
    ticks = style.log_ticks(*ends, most=most)
    assert 2 <= len(ticks) <= most
    assert all(ends[0] <= t <= ends[1] for t in ticks)
    assert ticks == sorted(set(ticks))


def test_positions_are_spread_in_their_order():
    apart = style.spread([5.0, 1.0, 5.1, 5.2, 20.0], 4.0)
    assert apart[1] < apart[0] < apart[2] < apart[3] < apart[4]
    assert all(b - a >= 3.99 for a, b in pairwise(sorted(apart)))
    assert apart[4] == 20.0


def test_a_short_title_ends_at_a_word():
    assert (
        style.short("Fuse bias, relu and scale into the write-back") == "Fuse bias, relu and scale…"
    )
    assert style.short("  Two\nwords ") == "Two words"
    assert len(style.short("x" * 80)) == 26


def test_every_status_has_a_mark():
    assert set(style.FAILURES) == {s.value for s in Status} - {"passed"} | {style.WAITING}
    for index in (0, 1):
        assert len({look[index] for look in style.FAILURES.values()}) == len(style.FAILURES)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("figure", FIGURES)
def test_any_text_can_be_a_title(figure, tmp_path):
    from dataclasses import replace

    history = CASES["five rounds"]
    titles = ("Use $x$ {and} $\\frac", "λ → ∞ tiles <b> & \\n")
    ideas = tuple(replace(idea, title=titles[idea.number % 2]) for idea in history.all_ideas)
    drawn = figure(replace(history, all_ideas=ideas))
    for suffix in (".pdf", ".svg", ".html"):
        drawn.save(tmp_path / f"f{suffix}")
    if figure is not figures.categories:
        assert "Use $x$" in (tmp_path / "f.svg").read_text()


def test_a_long_chain_is_labelled_where_it_gained_most():
    history = histories.searched(rounds=40, width=1, ideas=1, samples=2)
    assert len(history.lineage(history.best.number)) > 15
    for figure in (figures.trajectory, figures.lineage):
        drawn = figure(history).matplotlib("neurips")
        drawn.draw_without_rendering()
        ticks = drawn.axes[-1 if figure is figures.trajectory else 0].get_xticks()
        assert len(ticks) <= 12
    labels = [t for t in figures.trajectory(history).matplotlib().axes[0].texts if t.get_text()]
    assert len(labels) <= 9 + 3


@pytest.mark.parametrize(
    ("ratio", "label"),
    [(1.0, "1×"), (2.0, "2.00×"), (0.7061, "0.706×"), (12.34, "12.3×"), (123.4, "123×"),
     (3172.0, "3172×")],
)  # fmt: skip
def test_a_ratio_has_three_digits(ratio, label):
    assert style.times(ratio) == label
