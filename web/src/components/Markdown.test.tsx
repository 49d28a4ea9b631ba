import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import Markdown, { ExternalLink, safeHref } from "./Markdown";

describe("a link that somebody else wrote", () => {
  it("is followed only where it is http or https, whole, and without a user in it", () => {
    for (const bad of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "java\nscript:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "file:///etc/passwd",
      "//evil.example",
      "/path",
      "#/x",
      "blob:x",
      "ftp://a",
      "https://user:pw@evil.example",
      "",
      null,
    ]) {
      expect(safeHref(bad)).toBeNull();
    }
    expect(safeHref("https://example.com/a?b#c")).toBe("https://example.com/a?b#c");
  });

  it("is marked, opens apart, and says nothing of where it comes from", () => {
    const html = renderToStaticMarkup(<ExternalLink href="https://example.com">there</ExternalLink>);
    expect(html).toContain('rel="noopener noreferrer nofollow"');
    expect(html).toContain('target="_blank"');
    expect(html).toContain("↗");
    expect(renderToStaticMarkup(<ExternalLink href="javascript:alert(1)">x</ExternalLink>)).not.toContain("<a");
  });
});

describe("a model's Markdown", () => {
  const drawn = (text: string) => renderToStaticMarkup(<Markdown text={text} spans={[]} />);

  it("keeps raw HTML as text, and loads no image", () => {
    const html = drawn(
      "Hi <img src=x onerror=alert(1)> **you**\n\n<script>alert(1)</script>\n\n![a](https://evil.example/x.png)",
    );
    expect(html).toContain("<strong>you</strong>");
    expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
    expect(html).not.toMatch(/<(img|script|iframe|svg|object|form)/);
    expect(html).toContain("image not loaded");
  });

  it("makes no link of what is none", () => {
    expect(drawn("[x](javascript:alert(1)) <javascript:alert(1)> [y](data:text/html,z)")).not.toContain("<a");
    expect(drawn("[x](https://example.com)")).toContain('target="_blank"');
  });

  it("marks places where they stand in the source, inside of formatting too", () => {
    const spans = [{ start: 2, end: 13, kind: "quote", id: "q", title: "quoted" }];
    const html = renderToStaticMarkup(<Markdown text={"I **keep my** name."} spans={spans} found="q" />);
    expect(html.replace(/<[^>]+>/g, "")).toBe("I keep my name.");
    expect(html).toMatch(/<strong><mark[^>]*data-found[^>]*>keep my<\/mark><\/strong>/);
  });
});
