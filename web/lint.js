/** The page's own rules, for oxlint: who imports whom, and that no text becomes HTML. */
import path from "node:path";

const SOURCE = path.join(import.meta.dirname, "src");

/** What each folder may import beside itself; features have a rule of their own. */
const ALLOWED = {
  "api": [],
  "lib": ["api"],
  "routes.ts": [],
  "hooks": ["api", "lib", "routes"],
  "components": ["api", "lib", "routes", "hooks"],
};

/** Imports go one way: api and lib, then routes, hooks and components, then features, none of which imports another. */
const boundaries = {
  create(context) {
    const from = path.relative(SOURCE, context.filename).split(path.sep);
    function check(node) {
      const wanted = node.source?.value;
      if (typeof wanted !== "string" || !wanted.startsWith(".")) return;
      const to = path.relative(SOURCE, path.resolve(path.dirname(context.filename), wanted)).split(path.sep);
      const why = reason(from, to);
      if (why) context.report({ node, message: `${from.join("/")} must not import ${to.join("/")}: ${why}` });
    }
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

function reason([from, feature], [to, other]) {
  if (from === "features" && to === "features") return feature === other ? null : "a feature imports no other feature";
  const allowed = ALLOWED[from];
  return allowed && to !== from && !allowed.includes(to)
    ? `${from} imports only ${allowed.join(", ") || "itself"}`
    : null;
}

const RAW_HTML = "All text is hostile: render React nodes, never HTML.";

/** What would make HTML of text, or load or send something. */
const HOSTILE = {
  "JSXAttribute[name.name='dangerouslySetInnerHTML']": RAW_HTML,
  "Property[key.name='dangerouslySetInnerHTML']": RAW_HTML,
  "Property[key.value='dangerouslySetInnerHTML']": RAW_HTML,
  "CallExpression[callee.property.name='createContextualFragment']": RAW_HTML,
  "CallExpression[callee.property.name='parseFromString']": RAW_HTML,
  "ImportDeclaration[source.value='rehype-raw']": RAW_HTML,
  "JSXOpeningElement[name.name=/^(iframe|object|embed|base|form|script|style|link)$/]":
    "This element could load or send something.",
  "JSXOpeningElement[name.name='img']:not(:has(JSXAttribute[name.name='src'] TemplateElement:first-child[value.raw='data:image/png;base64,']))":
    "An image has its bytes in its address: it could load something.",
};

const hostile = {
  create: (context) =>
    Object.fromEntries(
      Object.entries(HOSTILE).map(([selector, message]) => [selector, (node) => context.report({ node, message })]),
    ),
};

const LENGTH = 120;

/** Lines that the formatter leaves as they are, other than of texts and addresses. */
const length = {
  create: (context) => ({
    Program() {
      const { lines } = context.sourceCode;
      const comments = new Set();
      for (const { loc } of context.sourceCode.getAllComments())
        for (let line = loc.start.line; line <= loc.end.line; line++) comments.add(line);
      for (const [place, text] of lines.entries()) {
        const may = text.includes("://") || (!comments.has(place + 1) && /["'`]/.test(text));
        if (text.length > LENGTH && !may)
          context.report({
            loc: { line: place + 1, column: LENGTH },
            message: `a line has at most ${LENGTH} characters`,
          });
      }
    },
  }),
};

export default { meta: { name: "house" }, rules: { boundaries, hostile, length } };
