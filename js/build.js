// Bundle the editor into one file, and write the notice for what went into it.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const STATIC = "../workbench/notebook/static";

const { metafile } = await build({
  entryPoints: ["src/editor.js"],
  outfile: `${STATIC}/cuda_editor.js`,
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "none",
  metafile: true,
});

const folders = new Set(
  Object.keys(metafile.inputs).flatMap((path) => path.match(/^node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []),
);
const licences = new Map(); // text -> packages
for (const folder of [...folders].sort()) {
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const text = readFileSync(`${folder}/LICENSE`, "utf8").trim();
  licences.set(text, [...(licences.get(text) ?? []), `${name} ${version}`]);
}
const sections = [...licences].map(([text, names]) => `## ${names.join(", ")}\n\n${text}\n`);
writeFileSync(
  `${STATIC}/THIRD_PARTY.md`,
  `# Software inside cuda_editor.js\n\nWritten by js/build.js.\n\n${sections.join("\n")}`,
);
