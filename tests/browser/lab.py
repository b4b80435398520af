"""JupyterLab in a browser: start it, open notebooks in it, run cells, look."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from playwright.sync_api import Browser, Locator, Page, sync_playwright

REPOSITORY = Path(__file__).parents[2]
CHROMIUM = os.environ.get("WORKBENCH_CHROMIUM") or shutil.which("chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
PATIENCE_MS = 60_000
START_S = 120

# Cells run before the session is ready are dropped in silence.
_READY = """async () => {
  const pause = () => new Promise((done) => setTimeout(done, 50));
  const current = () => window.jupyterapp?.shell?.currentWidget;
  for (let i = 0; i < 1200 && !current()?.sessionContext; i++) await pause();
  const notebook = current();
  await notebook.context.ready;
  await notebook.sessionContext.ready;
  await notebook.sessionContext.session.kernel.info;
}"""
_OPEN = """async (path) => {
  await window.jupyterapp.restored;
  await window.jupyterapp.commands.execute("docmanager:open", { path, factory: "Notebook" });
}"""
_CLOSE = """async () => {
  const notebook = window.jupyterapp.shell.currentWidget;
  if (!notebook?.sessionContext) return;
  await notebook.context.save();
  await notebook.sessionContext.shutdown();
  notebook.dispose();
}"""
_RAN = """() => [...document.querySelectorAll(".jp-Notebook .jp-CodeCell .jp-InputPrompt")]
  .every((prompt) => /\\[\\d+\\]/.test(prompt.textContent))"""
_ERRORS = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .flatMap((cell) => cell.model.outputs?.toJSON() ?? [])
  .filter((output) => output.output_type === "error")
  .map(({ ename, evalue }) => `${ename}: ${evalue}`)"""
_SAVE = "async () => { await window.jupyterapp.shell.currentWidget.context.save(); }"
_COMMAND = "async ([id, args]) => { await window.jupyterapp.commands.execute(id, args); }"
_EXECUTE = """async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const future = kernel.requestExecute({ code });
  const said = [];
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === "stream") said.push(content.text);
    if (header.msg_type === "error") said.push(`${content.ename}: ${content.evalue}`);
  };
  await future.done;
  return said.join("").trim();
}"""


@dataclass
class Lab:
    """A page that shows JupyterLab; `foreign` are requests that left this machine."""

    url: str
    root: Path
    page: Page
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  # of the page's console
    _name: str = ""

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        self.page.on("request", lambda request: self._note(request.url))
        self.page.goto(f"{self.url}/lab?reset")
        self.page.wait_for_function(
            "() => window.jupyterapp?.commands.hasCommand('docmanager:open')"
        )

    def _note(self, url: str) -> None:
        if not url.startswith((self.url, self.url.replace("http", "ws"), "data:", "blob:")):
            self.foreign.append(url)

    def open(self, *cells: str) -> None:
        """Open a new notebook of these cells and run them all; raises what a cell raised."""
        self._name = f"{time.time_ns()}.ipynb"
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(notebook, self.root / self._name)
        self.page.evaluate(_OPEN, self._name)
        self.page.evaluate(_READY)
        self.page.evaluate("() => { window.jupyterapp.shell.collapseLeft(); }")
        self.command("notebook:run-all-cells")
        if errors := self.page.evaluate(_ERRORS):
            raise RuntimeError(errors[0])
        self.page.wait_for_function(_RAN)

    def reload(self) -> None:
        """Save the notebook and load the page again; its kernel lives on."""
        self.page.evaluate(_SAVE)
        self.page.goto(f"{self.url}/lab/tree/{self._name}")
        self.page.evaluate(_READY)

    def close(self) -> None:
        """Shut the notebook's kernel down and close it."""
        self.page.evaluate(_CLOSE)

    def execute(self, code: str) -> str:
        """What this code prints in the notebook's kernel."""
        return str(self.page.evaluate(_EXECUTE, code))

    def expect_printed(self, code: str, expected: str) -> None:
        """Messages from a page travel on a channel of their own: wait until they have come."""
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while (printed := self.execute(code)) != expected and time.monotonic() < deadline:
            time.sleep(0.1)
        assert printed == expected

    def start(self, code: str) -> None:
        """Run code in the notebook's kernel without waiting for it; see `finish`."""
        self.page.evaluate(f"(code) => {{ window.started = ({_EXECUTE})(code); }}", code)

    def finish(self) -> str:
        return str(self.page.evaluate("() => window.started"))

    def command(self, id: str, **arguments: str) -> None:
        self.page.evaluate(_COMMAND, [id, arguments])

    @property
    def panel(self) -> Locator:
        return self.page.locator(".jp-Notebook .wb")

    @property
    def editor(self) -> Locator:
        """The text that is edited; in a diff, its right side."""
        return self.page.locator(".wb-editor .cm-content").last


@contextlib.contextmanager
def server(folder: Path) -> Iterator[tuple[str, Path]]:
    """A JupyterLab of our own: its address, and the folder it serves."""
    root, settings = folder / "notebooks", folder / "config" / "labconfig"
    root.mkdir()
    settings.mkdir(parents=True)
    news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (settings / "page_config.json").write_text(json.dumps(news))
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": str(REPOSITORY),
        "WORKBENCH_CACHE": str(folder / "cache"),
    }
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", f"--ServerApp.root_dir={root}", "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True", "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
    ]  # fmt: skip
    with open(folder / "lab.log", "w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait_for(url, process)
        yield url, root
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/api/status", timeout=1)
            return
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not answer at {url} (exit status {process.poll()})")
