import path from "node:path";
import hooks from "eslint-plugin-react-hooks";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

/** Imports go one way: api and lib, then routes, hooks and components, then features, none of which imports another. */
const boundaries = {
  meta: { type: "problem", schema: [], messages: { no: "{{from}} must not import {{to}}: {{why}}" } },
  create(context) {
    const source = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "src");
    const from = path.relative(source, context.filename).split(path.sep);
    function check(node) {
      const wanted = node.source?.value;
      if (typeof wanted !== "string" || !wanted.startsWith(".")) return;
      const to = path.relative(source, path.resolve(path.dirname(context.filename), wanted)).split(path.sep);
      const why = reason(from, to);
      if (why) context.report({ node, messageId: "no", data: { from: from.join("/"), to: to.join("/"), why } });
    }
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

/** What each folder may import beside itself; features have a rule of their own. */
const ALLOWED = {
  "api": [],
  "lib": ["api"],
  "routes.ts": [],
  "hooks": ["api", "lib", "routes"],
  "components": ["api", "lib", "routes", "hooks"],
};

function reason([from, feature], [to, other]) {
  if (from === "features" && to === "features") return feature === other ? null : "a feature imports no other feature";
  const allowed = ALLOWED[from];
  return allowed && to !== from && !allowed.includes(to)
    ? `${from} imports only ${allowed.join(", ") || "itself"}`
    : null;
}

const RAW_HTML = "All text is hostile: render React nodes, never HTML.";

export default defineConfig(
  { ignores: ["node_modules", "test-results", "playwright-report", "e2e/.store"] },
  tseslint.configs.strict,
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": hooks, "house": { rules: { boundaries } } },
    rules: {
      ...hooks.configs.recommended.rules,
      "react-hooks/exhaustive-deps": "error",
      "react-hooks/incompatible-library": "off", // for the React compiler, which is not used
      "house/boundaries": "error",
      "max-len": ["error", { code: 120, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true }],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-console": "error",
      "no-restricted-globals": [
        "error",
        { name: "fetch", message: "src/api/client.ts is the one place that fetches." },
        { name: "XMLHttpRequest", message: "src/api/client.ts is the one place that fetches." },
        { name: "WebSocket", message: "src/api/client.ts is the one place that fetches." },
      ],
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc"].map((property) => ({
          property,
          message: RAW_HTML,
        })),
        { object: "document", property: "write", message: RAW_HTML },
        { object: "window", property: "open", message: "Links are made by components/Markdown.tsx." },
      ],
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: RAW_HTML },
        { selector: "Property[key.name='dangerouslySetInnerHTML']", message: RAW_HTML },
        { selector: "Property[key.value='dangerouslySetInnerHTML']", message: RAW_HTML },
        { selector: "CallExpression[callee.property.name='createContextualFragment']", message: RAW_HTML },
        { selector: "CallExpression[callee.property.name='parseFromString']", message: RAW_HTML },
        { selector: "ImportDeclaration[source.value='rehype-raw']", message: RAW_HTML },
        {
          selector: "JSXOpeningElement[name.name=/^(iframe|object|embed|base|form|script|style|link)$/]",
          message: "This element could load or send something.",
        },
        {
          selector:
            "JSXOpeningElement[name.name='img']:not(:has(JSXAttribute[name.name='src'] TemplateElement:first-child[value.raw='data:image/png;base64,']))",
          message: "An image has its bytes in its address: it could load something.",
        },
      ],
    },
  },
  { files: ["src/api/client.ts"], rules: { "no-restricted-globals": "off" } },
);
