"""Kernels and ideas are found in replies of every shape, in bounded time, without an exception."""

from __future__ import annotations

import random
import time

import pytest
from reply_shapes import CPP, IDEA_LISTS, KERNELS, WANTED, K

from workbench.llm import fences
from workbench.llm.joining import defined
from workbench.llm.listed_ideas import nearest_category
from workbench.llm.replies import extract_kernel, parse_ideas
from workbench.records import Category


@pytest.mark.parametrize("shape", KERNELS, ids=lambda s: s.name)
def test_the_kernel_is_found(shape) -> None:
    source, flags = extract_kernel(shape.reply, shape.form)
    assert source == shape.source
    if shape.flag:
        assert shape.flag in flags
    if not source:
        assert "no_code" in flags


def test_a_plain_reply_needs_no_flag() -> None:
    assert extract_kernel(f"```cpp\n{CPP}\n```", "cpp") == (CPP, ())


def test_a_draft_inside_thoughts_is_never_the_answer() -> None:
    for thoughts in (f"<think>\n```cpp\n{CPP}\n```", f"```cpp\n{CPP}\n```\n</think>\nI give up."):
        assert extract_kernel(thoughts, "cpp").source == ""


def test_a_helper_joins_only_when_it_is_used() -> None:
    helper = "static float half(float v) {\n  return v / 2;\n}"
    user = CPP.replace("x[0];", "half(x[0]);")
    fences_ = "```cpp\n{}\n```\n```cpp\n{}\n```"
    assert extract_kernel(fences_.format(helper, user), "cpp").source == f"{helper}\n\n{user}"
    assert extract_kernel(fences_.format(helper, CPP), "cpp").source == CPP


def test_functions_are_found_through_templates_namespaces_and_bounds() -> None:
    text = """
    namespace fast { template <int N> __global__ void __launch_bounds__(256, 2) one(float* x) {
        if (x) { for (;;) { two(x); } }
    } }
    extern "C" {
    // not three() {
    void launch(int a) { helper(); }
    }
    struct Pair { int a; };
    #define FOUR(x) { x; }
    """
    assert defined(text) == {"one", "launch"}


# -- ideas ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IDEA_LISTS)
def test_ideas_are_found(name) -> None:
    found = parse_ideas(IDEA_LISTS[name], 5)[:3]
    assert [d.title for d in found] == [title for title, _, _ in WANTED]
    assert [d.category for d in found] == [category for _, _, category in WANTED]
    for draft, (_, hypothesis, _) in zip(found, WANTED, strict=True):
        assert hypothesis.rstrip(".") in draft.hypothesis


def test_no_more_ideas_are_taken_than_asked_for_and_repeated_ones_once() -> None:
    reply = "1. Unroll it\n2. **Unroll it.**\n3. Tile it\n4. Fuse it"
    assert [d.title for d in parse_ideas(reply, 2)] == ["Unroll it", "Tile it"]
    assert parse_ideas(reply, 0) == ()


def test_a_paragraph_is_one_idea() -> None:
    (idea,) = parse_ideas("Keep the row in registers. It saves a pass over memory.", 3)
    assert idea.title == "Keep the row in registers"
    assert idea.hypothesis == "It saves a pass over memory."


@pytest.mark.parametrize(
    "reply", ["", "I'm sorry, I can't help with that.", "<think>1. a b", "..."]
)
def test_no_idea_is_made_of_nothing(reply) -> None:
    assert parse_ideas(reply, 3) == ()


@pytest.mark.parametrize(
    ("words", "category"),
    [
        ("Memory Access", Category.memory),
        ("asynchronous operations & latency hiding", Category.latency),
        ("precision", Category.precision),
        ("Compute & Instruction Optimization", Category.compute),
        ("Parallelism & Occupancy Enhancement", Category.parallelism),
        ("loop unrolling", Category.control),
        ("shared memory tiling", Category.memory),
        ("tensor cores via wmma", Category.compute),
        ("happiness", None),
        ("", None),
    ],
)
def test_a_category_is_the_one_with_the_nearest_words(words, category) -> None:
    assert nearest_category(words) is category


# -- hostile replies -----------------------------------------------------------------------


def test_mutated_replies_raise_nothing_and_end_soon() -> None:
    rng = random.Random(7)
    seeds = [s.reply for s in KERNELS] + list(IDEA_LISTS.values())
    scraps = ["```", "~~~", "<think>", "</think>", "{", '"', "}", "[", "\ud800", "|", "\n", "/*"]
    slowest = 0.0
    for _ in range(1500):
        text = rng.choice(seeds)
        for _ in range(rng.randrange(1, 6)):
            at, to = sorted(rng.choices(range(len(text) + 1), k=2))
            how = rng.randrange(4)
            if how == 0:
                text = text[:at] + text[to:]
            elif how == 1:
                text = text[:at] + rng.choice(scraps) * rng.randrange(1, 4) + text[at:]
            elif how == 2:
                text = text[:to] + text[at:to] + text[to:]
            else:
                text = text[:at] + rng.choice(seeds) + text[to:]
        text = text[:20_000]
        started = time.process_time()
        for form in ("cu", "cpp", "module"):
            source, _ = extract_kernel(text, form)
            source.encode()  # can be written to a file
        parse_ideas(text, 6)
        slowest = max(slowest, time.process_time() - started)
    assert slowest < 1.0


HOSTILE = (
    "```\n", "```cuda\nx\n", "`", "{", "[", '"', '{"a":', " ", "\n", "/* ", "/", "<think>", "(",
    "f(", "a", "#", "|a|\n", "1. a\n", "**", "> ", '{"title":"a b"}', ". ", "void f(){}\n", ", ",
    '#include "a.h"\n// file: a.h\n', '"""\n', "// ...", "<code ",
)  # fmt: skip


@pytest.mark.parametrize("scrap", HOSTILE)
def test_a_long_reply_of_anything_is_read_in_seconds(scrap) -> None:
    """A fourth of what is read at most; anything quadratic would take minutes."""
    text = scrap * (fences.REPLY_LIMIT // 4 // len(scrap))
    for reply in (text, f"```cuda\n{K}\n{text}", "{" + text):
        started = time.process_time()
        extract_kernel(reply, "cu")
        parse_ideas(reply, 6)
        assert time.process_time() - started < 5


def test_a_reply_beyond_a_megabyte_is_cut_and_says_so() -> None:
    reply = f"```cuda\n{K}\n```\n" + "x" * fences.REPLY_LIMIT
    assert extract_kernel(reply, "cu") == (K, ("cut",))
