"""Replies of every shape models were seen to send, and the kernel that is in each.

Shapes 1 to 44 were drawn up with the scanner, so they are no held-out score; 45 to 50 and the
joined ones are from real models' replies.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from workbench.records import Form

K = "__global__ void k(float*x){\n  x[0]=1;\n}"
K2 = "__global__ void k(float*x){\n  x[0]=2;\n}"
LAUNCH = 'extern "C" void launch(float* x, cudaStream_t s) {\n  k<<<1, 1, 0, s>>>(x);\n}'
CPP = '#include <cmath>\nextern "C" void launch(const float* x, float* y) {\n  y[0] = x[0];\n}'
MODULE = (
    "import torch\nfrom torch.utils.cpp_extension import load_inline\nsrc = r" + f'"""\n{K}\n"""\n'
    "class ModelNew(torch.nn.Module):\n    pass"
)
DOCUMENTED = 'import torch\nclass ModelNew:\n    """\n    ```\n    usage\n    ```\n    """\n    x=1'
ELIDED = K + "\n// ... rest of the code unchanged"
DIFF = f"<<<<<<< SEARCH\n{K}\n=======\n{K2}\n>>>>>>> REPLACE"
PATCH = "diff --git a/k.cu b/k.cu\n--- a/k.cu\n+++ b/k.cu\n@@ -1 +1 @@\n-int a;\n+int b;"


@dataclass(frozen=True)
class Shape:
    name: str
    reply: str
    source: str  # "": there is none
    flag: str | None = None  # one that must be among those found
    form: Form = "cu"


def _indented(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.split("\n"))


def _fence(text: str, info: str = "cuda") -> str:
    return f"```{info}\n{text}\n```"


KERNELS = [
    Shape("01 fence", f"Here:\n{_fence(K)}\nDone.", K),
    Shape("02 cpp tag", _fence(K, "cpp"), K),
    Shape("03 c++ tag", _fence(K, "c++"), K),
    Shape("04 tag and title", _fence(K, 'cu title="k.cu" {1,3}'), K),
    Shape("05 no tag", _fence(K, ""), K),
    Shape("06 module with a kernel in a string", _fence(MODULE, "python"), MODULE, form="module"),
    Shape("07 unclosed", f"Sure.\n```cuda\n{K}", K, "unclosed_fence"),
    Shape("08 opens in mid-line", f"Final code: ```cuda\n{K}\n```", K),
    Shape("09 closing fence glued to code", f"```cuda\n{K}```\nbye", K),
    Shape("10 closing fence, then prose", f"```cuda\n{K}\n``` This uses one thread.", K),
    Shape("11 forgotten close", f"```cuda\n{K}\n```cuda\n{K2}\n```", K2, "multiple"),
    Shape("12 draft, then final", f"First:\n{_fence(K)}\nBetter:\n{_fence(K2)}", K2, "multiple"),
    Shape("13 then a command", f"{_fence(K)}\nCompile:\n{_fence('nvcc k.cu', 'bash')}", K),
    Shape("14 then a usage example", f"{_fence(K)}\nLaunch:\n{_fence('k<<<1,1>>>(x);', 'cpp')}", K),
    Shape("15 in a list", f"1. Kernel:\n{_indented(_fence(K), '   ')}\n2. End", K),
    Shape("16 indented", _indented(_fence(K), "    "), K),
    Shape("17 block quote", _indented(_fence(K), "> "), K),
    Shape("18 tildes", f"~~~cuda\n{K}\n~~~", K),
    Shape("19 four backticks", f"````cuda\n{K}\n````", K),
    Shape("20 in <details>", f"<details><summary>c</summary>\n{_fence(K)}\n</details>", K),
    Shape("21 CRLF", _fence(K).replace("\n", "\r\n"), K),
    Shape("22 zero-width", "\u200b" + _fence(K), K),
    Shape("23 draft in <think>", f"<think>maybe\n{_fence(K2)}\n</think>\n{_fence(K)}", K),
    Shape("24 only </think>", f"hmm try\n{_fence(K2)}\n</think>\n\n{_fence(K)}", K),
    Shape("25 <think> cut", f"<think>let me\n{_fence(K)}\nwait", "", "truncated_in_reasoning"),
    Shape(
        "26 channels",
        f"<|channel|>analysis<|message|>x\n{_fence(K2)}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{_fence(K)}<|return|>",
        K,
    ),
    Shape("27 JSON", json.dumps({"idea": "x", "code": K}), K, "json_wrapped"),
    Shape(
        "28 fenced JSON with fenced code",
        _fence(json.dumps({"idea": "x", "code": _fence(K)}), "json"),
        K,
        "json_wrapped",
    ),
    Shape("29 JSON with raw newlines", f'{{"idea":"x",\n"code":"{K}",}}', K, "json_wrapped"),
    Shape("30 JSON list of lines", json.dumps({"code": K.split("\n")}), K, "json_wrapped"),
    Shape("31 tags", f"<answer>\n{K}\n</answer>", K, "tag_wrapped"),
    Shape("32 bare", f"#include <cuda.h>\n{K}", f"#include <cuda.h>\n{K}", "no_fence"),
    Shape("33 prose, then bare", f"Here is the kernel.\n\n{K}", K, "no_fence"),
    Shape("34 elided", _fence(ELIDED), ELIDED, "elided_code"),
    Shape("35 refusal", "I'm sorry, I can't help with that.", "", "no_code"),
    Shape("36 empty", "", "", "empty"),
    Shape("37 search and replace", _fence(DIFF), DIFF, "search_replace"),
    Shape("38 leaked token", _fence(K) + "<|im_end|>", K),
    Shape("39 fence in a docstring", _fence(DOCUMENTED, "python"), DOCUMENTED, form="module"),
    Shape(
        "40 kernel and module", f"{_fence(K)}\n{_fence(MODULE, 'python')}", MODULE, "multiple",
        form="module",
    ),
    Shape("41 full-width backticks", _fence(K).replace("`", "\uff40"), K),
    Shape("42 empty fence first", f"```cuda\n```\n\n{_fence(K)}", K),
    Shape("43 language on the next line", f"```\ncuda\n{K}\n```", K),
    Shape("44 backticks in a comment", _fence(f"// see ```foo```\n{K}"), f"// see ```foo```\n{K}"),
    Shape("45 kernel and launcher", f"{_fence(K)}\n\nThen:\n{_fence(LAUNCH)}", f"{K}\n\n{LAUNCH}",
          "joined"),
    Shape(
        "46 several files",
        _fence(f"// file: tile.cuh\n{K}")
        + "\n"
        + _fence(f'// file: main.cu\n#include "tile.cuh"\n{LAUNCH}'),
        f"// file: tile.cuh\n{K}\n\n// file: main.cu\n{LAUNCH}",
        "joined",
    ),
    Shape(
        "47 the prompt echoed first",
        _fence('extern "C" void launch(float* x, cudaStream_t s);') + "\n" + _fence(LAUNCH + K),
        LAUNCH + K,
        "multiple",
    ),
    Shape("48 cut in a character", f"```cuda\n{K}\n// gr\ud83d", f"{K}\n// gr", "unclosed_fence"),
    Shape("49 patch", _fence(PATCH, "diff"), PATCH, "diff"),
    Shape("50 all in the reasoning field", "", "", "no_code"),
    Shape("51 C++ for a CPU", f"Here.\n{_fence(CPP, 'cpp')}", CPP, form="cpp"),
    Shape("52 launcher first", f"{_fence(LAUNCH)}\n{_fence(K)}", f"{LAUNCH}\n\n{K}", "joined"),
    Shape("53 test program beside it", _fence(CPP, "cpp")
          + "\n" + _fence("int main() {\n  launch(0, 0);\n}", "cpp"), CPP, form="cpp"),
    Shape("54 module where a kernel was asked", _fence(MODULE, "python"), MODULE, "wrong_language"),
    Shape("55 JSON in prose", f"Sure:\n{_fence(json.dumps({'code': K}), 'json')}\nBye", K,
          "json_wrapped"),
    Shape("56 bare, then prose", f"{CPP}\n\nThis copies one number.", CPP, "no_fence", form="cpp"),
]  # fmt: skip

_MEMORY, _LATENCY = "memory access", "asynchrony and latency hiding"
_PRECISION, _LOOPS = "data type and precision", "control flow and loops"
_TITLES = ["Tile rows in shared memory", "Overlap copies", "Use bf16"]
_WANTED = [
    (_TITLES[0], "Rows are read twice.", _MEMORY),
    (_TITLES[1], "Waits dominate.", _LATENCY),
    (_TITLES[2], "Half the bytes.", _PRECISION),
]
_OBJECTS = [{"title": t, "hypothesis": h, "category": c} for t, h, c in _WANTED]

# Name -> reply, each with the three ideas above.
IDEA_LISTS = {
    "json": json.dumps({"ideas": _OBJECTS}),
    "json indented": json.dumps({"ideas": _OBJECTS}, indent=2),
    "json array": json.dumps(_OBJECTS),
    "json lines": "\n".join(json.dumps(o) for o in _OBJECTS),
    "json nested": json.dumps({"result": {"ideas": _OBJECTS}}),
    "json by number": json.dumps({str(i): o for i, o in enumerate(_OBJECTS)}),
    "json fenced in prose": f"Here:\n```json\n{json.dumps({'ideas': _OBJECTS})}\n```\nGood luck!",
    "json in prose": f"Here: {json.dumps({'ideas': _OBJECTS})} Good luck!",
    "json after thoughts": f"<think>1. no\n2. no</think>{json.dumps({'ideas': _OBJECTS})}",
    "json trailing comma": json.dumps({"ideas": _OBJECTS})[:-2] + ",]}",
    "json cut": json.dumps({"ideas": [*_OBJECTS, {"title": "Never finished"}]})[:-15],
    "json other keys": json.dumps(
        [{"name": t, "why": h, "type": c.upper()} for t, h, c in _WANTED]
    ),
    "numbered": "Ideas:\n\n" + "\n".join(
        f"{i}. {t}: {h} (category: {c})" for i, (t, h, c) in enumerate(_WANTED, 1)
    ),
    "numbered bold with fields": "\n".join(
        f"{i}) **{t}**\n   - Category: {c}\n   - Hypothesis: {h}"
        for i, (t, h, c) in enumerate(_WANTED, 1)
    ),
    "bullets": "\n".join(f"- {t} – {h} [{c}]" for t, h, c in _WANTED),
    "bold titles": "\n\n".join(f"**{t}** ({c})\n{h}" for t, h, c in _WANTED),
    "headings": "\n".join(
        f"### Idea {i}: {t}\n**Category:** {c}\n\n{h}\n" for i, (t, h, c) in enumerate(_WANTED, 1)
    ),
    "table": "| # | Idea | Category | Hypothesis |\n|---|:---|---|---|\n"
    + "\n".join(f"| {i} | {t} | {c} | {h} |" for i, (t, h, c) in enumerate(_WANTED, 1)),
}  # fmt: skip
WANTED = _WANTED
