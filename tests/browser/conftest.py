"""One JupyterLab and one Chromium for all browser tests; a page, and its notebooks, per need."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab import CHROMIUM, Lab, chromium, server
from playwright.sync_api import Browser, expect

VIEWPORT = {"width": 1280, "height": 1400}

expect.set_options(timeout=30_000)  # a busy machine is slow, not wrong


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: they take longest, and Playwright leaves an event loop running,
    which widgets of other tests would take for a kernel's."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"))
    items.sort(key=lambda item: here in item.path.parents)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[pytest.TestReport]:
    """What the page showed when a test failed: a picture, and its errors in the report."""
    report = yield
    lab = getattr(item, "funcargs", {}).get("lab")
    if report.when == "call" and report.failed and isinstance(lab, Lab):
        path = _folder(item.funcargs["tmp_path"]) / f"failed_{item.name}.png"
        lab.page.screenshot(path=path)
        report.sections.append(("page", "\n".join([f"picture: {path}", *lab.errors])))
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    with server(tmp_path_factory.mktemp("jupyter")) as address:
        yield address


@pytest.fixture(scope="session")
def new_lab(browser: Browser, jupyter: tuple[str, Path]) -> Iterator[Callable[..., Lab]]:
    """Makes a page of its own (about 8 s); `script` runs in it before anything else."""
    with contextlib.ExitStack() as stack:

        def make(script: str = "") -> Lab:
            context = browser.new_context(viewport=VIEWPORT)
            stack.callback(context.close)
            if script:
                context.add_init_script(script)
            return Lab(*jupyter, context.new_page())

        yield make


@pytest.fixture(scope="session")
def shared_lab(new_lab: Callable[..., Lab]) -> Lab:
    return new_lab()


@pytest.fixture
def lab(shared_lab: Lab, tmp_path: Path) -> Iterator[Lab]:
    """The page all tests share; the notebook a test opened is closed after it."""
    yield shared_lab
    shared_lab.close()


@pytest.fixture
def screenshot(tmp_path: Path) -> Callable[[Lab, str], Path]:
    """Saves what a page shows to $WORKBENCH_SCREENSHOTS, or to the test's own folder."""

    def save(lab: Lab, name: str) -> Path:
        path = _folder(tmp_path) / f"{name}.png"
        lab.page.screenshot(path=path)
        return path

    return save


def _folder(own: Path) -> Path:
    folder = Path(os.environ.get("WORKBENCH_SCREENSHOTS") or own)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
