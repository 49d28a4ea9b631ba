import type { Locator, Page } from "@playwright/test";
import { expect, expectNoSideways, inEachWindow, open, test, violations } from "./watch";

test.use({ store: "label" });

// what one marks, the next one sees
test.describe.configure({ mode: "serial" });

/** Every mark that is to be given, with its buttons. */
function scales(page: Page): Locator {
  return page.getByRole("region", { name: "Scores and rubric" }).locator("fieldset");
}

/** Give every mark by its key: the page itself goes on to the next scale. */
async function markAll(page: Page): Promise<void> {
  for (const scale of await scales(page).all()) {
    await expect(scale.getByText("(keys set this)")).toBeVisible();
    const yes = (await scale.getByRole("button", { name: "yes", exact: true }).count()) > 0;
    await page.keyboard.press(yes ? "y" : "7");
    await expect(scale.getByRole("button", { name: yes ? "yes" : "7", exact: true })).toHaveAttribute(
      "aria-pressed",
      "true",
    );
  }
}

/** Its words alone: Markdown is drawn once its code is there, and until then the signs are shown. */
async function words(conversation: Locator): Promise<string> {
  return (await conversation.innerText()).replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}

test("a conversation is marked by keys alone, undone with its marks kept, and skipped", async ({ page }) => {
  await open(page, "/label");
  const standing = page.getByRole("status");
  await expect(standing).toContainText(/person:anna: 0 of \d+ conversations/);
  const conversation = page.getByRole("region", { name: "Conversation" });
  const said = await words(conversation);
  await expect(page.locator("main")).not.toContainText("acme/"); // blind
  await page.keyboard.press("Enter"); // nothing is marked yet
  await markAll(page);
  await page.keyboard.press("Enter");
  await expect(standing).toContainText(/: 1 of \d+ conversations/);
  await expect.poll(() => words(conversation)).not.toBe(said);

  await page.keyboard.press("u");
  await expect(standing).toContainText(/: 0 of \d+ conversations/);
  await expect.poll(() => words(conversation)).toBe(said);
  const marks = scales(page);
  await expect(marks.getByRole("button", { pressed: true })).toHaveCount(await marks.count());
  // another mark by a click, and a note, whose letters are no keys
  await marks.first().getByRole("button").first().click();
  await page.getByRole("textbox").fill("s u 7: it keeps its name");
  await expect(standing).toContainText(/: 0 of \d+ conversations/);
  await page.getByRole("button", { name: "Keep (Enter)" }).click();
  await expect(standing).toContainText(/: 1 of \d+ conversations/);
  await page.locator("main").focus();
  await page.keyboard.press("s");
  await expect(standing).toContainText("1 skipped for now");
  await page.getByRole("button", { name: "How far do the judges agree with me?" }).click();
  await expect(page.getByRole("region", { name: "Agreement" })).toContainText(/judge|stored/);
});

test("marks survive a reload: they are on this machine, not in the page", async ({ page }) => {
  await open(page, "/label");
  await expect(page.getByRole("status")).toContainText(/: 1 of \d+ conversations/);
  await page.getByRole("button", { name: "Undo (u)" }).click();
  await expect(page.getByRole("textbox")).toHaveValue("s u 7: it keeps its name");
  await page.getByRole("button", { name: "Keep (Enter)" }).click();
  await expect(page.getByRole("status")).toContainText(/: 1 of \d+ conversations/);
});

test("Enter on a button is that button's, and stores no marks", async ({ page }) => {
  await open(page, "/label");
  const standing = page.getByRole("status");
  await expect(standing).toContainText(/: 1 of \d+ conversations/);
  await markAll(page);
  const last = scales(page).last();
  const other = (await last.getByRole("button", { name: "yes", exact: true }).count()) > 0 ? "no" : "3";
  await last.getByRole("button", { name: other, exact: true }).focus();
  await page.keyboard.press("Enter");
  await expect(last.getByRole("button", { name: other, exact: true })).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("button", { name: "Skip (s)" }).focus();
  await page.keyboard.press("Enter");
  await expect(standing).toContainText("2 skipped for now");
  await expect(standing).toContainText(/: 1 of \d+ conversations/);
});

test("Enter keeps the marks after a click on one of them, too", async ({ page }) => {
  await open(page, "/label");
  const standing = page.getByRole("status");
  await expect(standing).toContainText(/: 1 of \d+ conversations/);
  await markAll(page);
  await scales(page).first().getByRole("button").first().click();
  await page.keyboard.press("Enter");
  await expect(standing).toContainText(/: 2 of \d+ conversations/);
});

test("the page for labelling is sound, also where it was asked for more", async ({ page }) => {
  await open(page, "/label");
  await scales(page).first().getByRole("button").first().click();
  await page.getByText("What every judge is told").click();
  await page.getByRole("button", { name: "How far do the judges agree with me?" }).click();
  await expect(page.getByRole("region", { name: "Agreement" })).toBeVisible();
  await inEachWindow(page, async (window) => {
    expect(await violations(page), window).toEqual([]);
    await expectNoSideways(page);
    // the conversation, its marks and its rubric are one column on a phone, two beside each other on a desk
    const [left, right] = await Promise.all(
      ["Conversation", "Scores and rubric"].map((name) => page.getByRole("region", { name }).boundingBox()),
    );
    if (page.viewportSize()?.width === 390) expect(right?.y).toBeGreaterThan((left?.y ?? 0) + (left?.height ?? 0) - 1);
    else expect(right?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0) - 1);
  });
});
