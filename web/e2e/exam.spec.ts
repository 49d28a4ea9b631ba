import { expect, open, reopen, settled, test } from "./watch";

test.use({ store: "label" });

test("what a judge made of a question, beside another judge, and only those marked wrongly", async ({ page }) => {
  await open(page, "/judges");
  await page.getByRole("link", { name: "the exam" }).click();
  await settled(page);
  const sat = page.getByRole("table", { name: "Judges that were validated" });
  await expect(sat.getByRole("row", { name: /exam-perfect/ })).toContainText("ranking");
  await sat.getByRole("link", { name: /exam-blind/ }).click();
  await page.getByLabel("Compare with").selectOption({ label: "sim:sim/exam-perfect@none-t0.0" });
  await expect(page.getByRole("table", { name: "Figures by rubric" })).toHaveCount(2);

  const questions = page.getByRole("region", { name: "Questions" });
  const all = (await questions.getByText(/^\d+ questions$/).textContent()) ?? "";
  expect(parseInt(all)).toBeGreaterThan(60);
  await page.getByRole("button", { name: "scored wrongly" }).click();
  await expect(questions.getByText(all, { exact: true })).toHaveCount(0);
  const first = questions.getByRole("listitem").first();
  await expect(first).toContainText("✗"); // by the one that sees nothing
  await first.locator("summary").click();
  await expect(first.getByRole("list", { name: "The conversation" }).getByRole("listitem")).not.toHaveCount(0);
  for (const judge of ["blind", "perfect"])
    await expect(first.getByRole("region", { name: `sim:sim/exam-${judge}@none-t0.0` })).toContainText(/✓|✗/);
  await page.getByRole("button", { name: "Next" }).click();
  await reopen(page);
  await expect(questions.getByText(/^2 of \d/)).toBeVisible();
});
