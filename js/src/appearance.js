// How CUDA C++ looks: colours are JupyterLab's CSS variables, so both themes work without any code.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Decoration, EditorView, MatchDecorator, ViewPlugin } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const ink = (name, fallback) => `var(--jp-mirror-editor-${name}-color, ${fallback})`;

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword], color: ink("keyword", "#008000"), fontWeight: "bold" },
  { tag: [tags.typeName, tags.standard(tags.typeName), tags.className], color: ink("variable-3", "#0055aa") },
  { tag: [tags.number, tags.bool, tags.null], color: ink("number", "#008000") },
  { tag: [tags.string, tags.character, tags.special(tags.string)], color: ink("string", "#ba2121") },
  { tag: tags.comment, color: ink("comment", "#408080"), fontStyle: "italic" },
  { tag: [tags.processingInstruction, tags.meta], color: ink("meta", "#aa22ff") },
  { tag: [tags.operator, tags.compareOperator, tags.arithmeticOperator], color: ink("operator", "#7800c2") },
  { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], color: ink("def", "#0000ff") },
]);

const paper = "var(--jp-layout-color1, var(--vscode-editor-background, #ffffff))";
const shade = "var(--jp-layout-color2, #eeeeee)";
const text = "var(--jp-ui-font-color1, var(--vscode-editor-foreground, #000000))";
const line = "var(--jp-border-color1, #bbbbbb)";
const cursor = "var(--jp-editor-cursor-color, var(--jp-ui-font-color0, #000000))";

const theme = EditorView.theme({
  "&": {
    fontSize: "var(--jp-code-font-size, 13px)",
    border: `1px solid ${line}`,
    backgroundColor: "var(--jp-cell-editor-background, var(--vscode-editor-background, #ffffff))",
    color: "var(--jp-content-font-color1, var(--vscode-editor-foreground, #000000))",
  },
  "&.cm-focused": { outline: "2px solid var(--jp-brand-color1, #2196f3)" },
  ".cm-scroller": { fontFamily: "var(--jp-code-font-family, monospace)", lineHeight: "1.4", overflow: "auto" },
  ".cm-gutters": { backgroundColor: shade, color: "var(--jp-content-font-color2, #444444)", border: "none" },
  ".cm-content": { caretColor: cursor },
  ".cm-cursor": { borderLeftColor: cursor },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--jp-editor-selected-focused-background, #d7d4f0) !important",
  },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--jp-brand-color1, #2196f3) 10%, transparent)",
  },
  ".cm-tooltip": { backgroundColor: paper, color: text, border: `1px solid ${line}` },
  ".cm-panels": { backgroundColor: shade, color: text },
  ".cm-textfield, .cm-button": { backgroundColor: paper, backgroundImage: "none", color: text, borderColor: line },
  ".cm-collapsedLines": { background: `${shade} !important`, color: text },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "'···' !important" },
  ".cm-cuda": { color: ink("builtin", "#008000"), fontWeight: "bold" },
});

// The C++ grammar knows no CUDA words but copes with <<<...>>>; they are marked by their spelling.
const words = new MatchDecorator({
  regexp: new RegExp(
    "\\b(?:__(?:global|device|host|shared|constant|managed|restrict|launch_bounds|forceinline|noinline)__" +
      "|__sync(?:threads|warp)|__shfl_\\w+|__ldg|threadIdx|blockIdx|blockDim|gridDim|warpSize|dim3" +
      "|half2?|__half2?|__nv_bfloat16|(?:float|int|uint)[234])\\b|<<<|>>>",
    "g",
  ),
  decoration: Decoration.mark({ class: "cm-cuda" }),
});
const cudaWords = ViewPlugin.define(
  (view) => ({
    marks: words.createDeco(view),
    update(change) {
      this.marks = words.updateDeco(change, this.marks);
    },
  }),
  { decorations: (plugin) => plugin.marks },
);

export const appearance = [theme, syntaxHighlighting(highlighting), cudaWords];
