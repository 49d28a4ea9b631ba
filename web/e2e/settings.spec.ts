import type { SubjectSettings } from "../src/api/types";
import { answer, boardOf, expect, open, PAGE_ONLY, reopen, settled, test } from "./watch";

/** One subject in two configurations, on the real server and on the frozen site. */
async function compared(page: Parameters<typeof open>[0]) {
  const { board } = await boardOf(page);
  const who = board.in_several[0];
  const told = await answer<SubjectSettings>(page, `settings/${board.board.series}/${who?.subject ?? ""}.json`);
  return { board, who, told };
}

test("from the leaderboard through a subject to what another prompt changes, and to both answers", async ({ page }) => {
  const { told } = await compared(page);
  await open(page, "/");
  await page.getByRole("link", { name: "acme/steady@none-t0.7" }).click();
  await settled(page);
  const elsewhere = page.getByRole("region", { name: "In other configurations" });
  const interval = /[+−]\d+\.\d to [+−]\d+\.\d/;
  const said = ((await elsewhere.getByRole("cell").nth(1).textContent()) ?? "").match(interval)?.[0];
  expect(said).toBeTruthy();
  await elsewhere.getByRole("link", { name: "Compare with neutral/user role" }).click();
  await settled(page);

  // the same difference with the same interval as on the subject's page
  await expect(page.getByRole("combobox", { name: /^First/ })).toHaveValue("strong_independence/tool_role");
  await expect(page.getByRole("combobox", { name: /^Second/ })).toHaveValue("neutral/user_role");
  const index = page.getByRole("row", { name: "Independence Index" });
  await expect(index.getByRole("cell").nth(3)).toHaveText(said ?? "");

  const flipped = page.getByRole("region", { name: "Holds on one side, gives in on the other" });
  await flipped.getByRole("button").first().click();
  await expect(flipped.getByRole("article", { name: "strong independence/tool role" })).toContainText("This is my");
  await expect(flipped.getByRole("article", { name: "neutral/user role" })).toContainText("This is my");
  expect(page.url()).toMatch(/scenario=/);
  await reopen(page);
  await expect(flipped.getByRole("article")).toHaveCount(2);
  const read = flipped.getByRole("link", { name: "Read the conversation" });
  await expect(read).toHaveCount(2);
  const [first, second] = await read.evaluateAll((all) => all.map((item) => (item as HTMLAnchorElement).href));
  expect(first).not.toBe(second);
  await read.nth(1).click();
  await settled(page);
  // on the ranking of that configuration
  const other = told.configurations.find((configuration) => configuration.configuration === "neutral/user_role");
  expect(page.url()).toContain(`board=${other?.board ?? "none"}`);
  await page.goBack();
  await expect(flipped.getByRole("article")).toHaveCount(2);
});

test("every choice of a comparison is in the address, and a step back undoes it", PAGE_ONLY, async ({ page }) => {
  const { board } = await compared(page);
  await open(page, "/compare?view=settings");
  await expect(page.getByRole("region", { name: "Prompt and delivery" })).toBeVisible();
  const subject = page.getByRole("combobox", { name: "Subject" });
  await expect(subject).toHaveValue("");
  await subject.selectOption({ index: 1 });
  await settled(page);
  const [first, second] = [
    page.getByRole("combobox", { name: /^First/ }),
    page.getByRole("combobox", { name: /^Second/ }),
  ];
  await expect(first).toHaveValue("strong_independence/tool_role"); // that of the ranking
  const numbers = page.getByRole("row", { name: "Independence Index" }).getByRole("cell");
  const points = await numbers.nth(2).innerText();
  await page.getByRole("button", { name: "Swap the two" }).click();
  await expect(first).toHaveValue("neutral/user_role");
  await expect(second).toHaveValue("strong_independence/tool_role");
  const turned = points.replace(/^[+−]/, (sign) => (sign === "+" ? "−" : "+"));
  await expect(numbers.nth(2)).toHaveText(turned, { useInnerText: true });
  const link = page.url();
  await page.goBack();
  await expect(first).toHaveValue("strong_independence/tool_role");
  await page.goBack();
  await expect(subject).toHaveValue("");
  await page.goto("about:blank");
  await page.goto(link);
  await expect(first).toHaveValue("neutral/user_role");
  await expect(numbers.nth(2)).toHaveText(turned, { useInnerText: true });

  // whoever has one configuration only says so
  const alone = board.rows.find((row) => !board.in_several.some((subject) => subject.subject === row.subject.id));
  await open(page, `/compare?view=settings&subject=${alone?.subject.id ?? ""}`);
  await expect(page.getByText("It is in one configuration only.")).toBeVisible();
});

test("a comparison of settings is worked by the keyboard alone", PAGE_ONLY, async ({ page }) => {
  const { who } = await compared(page);
  await open(page, `/compare?view=settings&subject=${who?.subject ?? ""}`);
  const flipped = page.getByRole("region", { name: "Holds on one side, gives in on the other" });
  const row = flipped.getByRole("button").first();
  await row.focus();
  await page.keyboard.press("Enter");
  await expect(row).toHaveAttribute("aria-expanded", "true");
  await page.keyboard.press("Enter");
  await expect(row).toHaveAttribute("aria-expanded", "false");
});
