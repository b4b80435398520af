// The page's side of KernelEditor: Python decides, this draws, and tells what a person typed.
import {
  autocompletion, closeBrackets, closeBracketsKeymap, completeAnyWord, completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { MergeView } from "@codemirror/merge";
import { search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorSelection, EditorState } from "@codemirror/state";
import {
  drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars,
  keymap, lineNumbers,
} from "@codemirror/view";
import { appearance } from "./appearance.js";

const QUIET_MS = 250; // an edit travels when the person has paused for so long

const fromKernel = Annotation.define();

const shown = [
  lineNumbers(), highlightSpecialChars(), drawSelection(), bracketMatching(), indentUnit.of("  "),
  cpp(), search({ top: true }), appearance,
];
const edited = [
  history(), foldGutter(), indentOnInput(), closeBrackets(), highlightActiveLine(),
  highlightActiveLineGutter(), lintGutter(),
  autocompletion({ override: [completeAnyWord], activateOnTyping: false }),
  keymap.of([
    ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap,
    ...completionKeymap, ...lintKeymap, indentWithTab,
  ]),
];
const readOnly = (on) => [
  EditorState.readOnly.of(on),
  EditorView.contentAttributes.of(on ? { "aria-readonly": "true" } : {}),
];

// Compiler messages -> CodeMirror's: the word at the column, or the whole line without one.
function marks(doc, messages) {
  return messages.map(({ line, column, severity, message }) => {
    const { from: start, to: end, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
    const indent = text.length - text.trimStart().length;
    const from = Math.min(start + (column ? column - 1 : indent), end);
    const word = column ? text.slice(column - 1).match(/^(\w+|.?)/)[0] : text.trimStart();
    return { from, to: from + word.length, severity, message };
  });
}

// anywidget (to 0.11 at least) drops every kernel-to-page message of a model whose code took over
// two seconds to load. When a view is drawn the code is loaded: listen directly, ask for the state.
async function heal(model) {
  try {
    const own = await model.widget_manager.get_model(model.get("wid"));
    const handlers = [];
    for (let p = Object.getPrototypeOf(own); p; p = Object.getPrototypeOf(p)) {
      if (Object.hasOwn(p, "_handle_comm_msg")) handlers.push(p._handle_comm_msg);
    }
    const inherited = handlers[1]; // [0] is anywidget's, which waits for the lost promise
    if (inherited && own.comm?.on_msg && !own.workbenchHealed) {
      own.workbenchHealed = true;
      own.comm.on_msg(inherited.bind(own));
    }
  } catch (error) {
    console.warn("[workbench] the editor may miss messages from the kernel:", error);
  }
  model.send({ event: "hello" });
}

function hostIn(el, model) {
  const host = document.createElement("div");
  host.className = "wb-editor";
  host.setAttribute("data-lm-suppress-shortcuts", "true"); // else JupyterLab takes Ctrl-Enter, Esc, ...
  host.setAttribute("data-jp-suppress-context-menu", "");
  host.addEventListener("keydown", (event) => event.stopPropagation()); // and other notebooks, on its way up
  const hint = document.createElement("div");
  hint.id = `wb-hint-${model.get("wid")}`;
  hint.className = "wb-editor-hint";
  hint.textContent = model.get("hint");
  hint.style.cssText = "font: 12px var(--jp-ui-font-family, sans-serif); padding: 4px 0";
  el.append(host, hint);
  return { host, hint };
}

function render({ model, el }) {
  const { host, hint } = hostIn(el, model);
  const locked = new Compartment();
  let view, diff, timer;
  let agreed; // the text the model and this view last had in common

  // Edits are messages, not trait updates: those wait while the kernel is busy, and a click would overtake them.
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const value = view.state.doc.toString();
    if (value === model.get("value")) return;
    agreed = value;
    model.set("value", value); // for other views on this page
    model.send({ event: "edit", value });
  };
  const flushPending = () => timer !== undefined && flush();
  const tell = (event) => () => {
    flush();
    model.send({ event, value: view.state.doc.toString() });
    return true;
  };

  const attributes = (label) =>
    EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": hint.id, tabindex: "0" });
  const own = () => [
    keymap.of([ // first, so that Mod-Enter is not a new line
      { key: "Mod-Enter", run: tell("run"), preventDefault: true },
      { key: "Mod-s", run: tell("save"), preventDefault: true },
    ]),
    shown, edited, attributes(model.get("label")), locked.of(readOnly(model.get("read_only"))),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged || update.transactions.some((t) => t.annotation(fromKernel))) return;
      clearTimeout(timer);
      timer = setTimeout(flush, QUIET_MS);
    }),
  ];

  const discard = () => {
    diff ? diff.destroy() : view?.destroy();
    view = diff = undefined;
  };
  const build = () => {
    if (model.get("value") === agreed) flushPending(); // else the kernel has set another text: it wins
    const [hadFocus, head] = [view?.hasFocus, view?.state.selection.main.head ?? 0];
    discard();
    clearTimeout(timer);
    timer = undefined;
    const [doc, original, maxHeight] = ["value", "original", "height"].map((name) => model.get(name));
    agreed = doc;
    if (original === null) {
      view = new EditorView({ parent: host, doc, extensions: own() });
      view.dom.style.maxHeight = maxHeight;
    } else {
      diff = new MergeView({
        parent: host, gutter: true, collapseUnchanged: { margin: 3, minSize: 6 },
        revertControls: model.get("read_only") ? undefined : "a-to-b",
        a: { doc: original, extensions: [shown, attributes(`${model.get("label")}: before`), readOnly(true)] },
        b: { doc, extensions: own() },
      });
      diff.dom.style.cssText = `max-height: ${maxHeight}; overflow: auto`;
      view = diff.b;
    }
    if (hadFocus) {
      view.dispatch({ selection: { anchor: Math.min(head, doc.length) }, scrollIntoView: true });
      view.focus();
    }
    onDiagnostics();
  };

  const onDiagnostics = () =>
    view.dispatch(setDiagnostics(view.state, marks(view.state.doc, model.get("diagnostics").items)));
  const onValue = () => {
    const value = model.get("value");
    agreed = value;
    if (value === view.state.doc.toString()) return;
    clearTimeout(timer);
    timer = undefined;
    view.dispatch({
      changes: { from: 0, to: view.state.doc.length, insert: value },
      selection: EditorSelection.cursor(Math.min(view.state.selection.main.head, value.length)),
      annotations: fromKernel.of(true),
    });
    onDiagnostics();
  };
  const onReadOnly = () =>
    diff ? build() : view.dispatch({ effects: locked.reconfigure(readOnly(model.get("read_only"))) });
  const onMessage = (message) => {
    if (!message?.goto) return;
    const { from } = view.state.doc.line(Math.min(message.goto, view.state.doc.lines));
    view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
    view.focus();
  };
  const listeners = {
    "change:value": onValue, "change:original": build, "change:loads": build, "change:read_only": onReadOnly,
    "change:diagnostics": onDiagnostics, "msg:custom": onMessage,
  };

  build();
  host.addEventListener("focusout", flushPending);
  for (const [event, listener] of Object.entries(listeners)) model.on(event, listener);
  heal(model);
  return () => {
    flushPending();
    for (const [event, listener] of Object.entries(listeners)) model.off(event, listener);
    discard();
  };
}

export default { render };
