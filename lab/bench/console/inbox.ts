import type { Locator, Page } from 'playwright-core';
import { contactOf } from './inbox-load.ts';
import { quantile } from '../support/webhook-load.ts';
import { LINEPACE, type Row } from '../support/rows.ts';

/** With the milliseconds that 95 of 100 may take, from the key press or click until the result is painted. */
const WORKS = {
  clicked: { name: 'the inbox in a browser: open a conversation by a click', goal: 100 },
  stepped: { name: 'the inbox in a browser: open the next conversation by a key', goal: 100 },
  replied: { name: 'the inbox in a browser: show a reply as being sent', goal: 100 },
  searched: { name: 'the inbox in a browser: search', goal: 200 },
};
/** Between two keys of somebody who types fast. */
const TYPING_MS = 120;
/** Before the next conversation: shorter than anybody reads. */
const READING_MS = 400;

/**
 * Waits in the page until something is shown and painted. A frame calls back before it paints, and what is posted then
 * comes after the paint.
 */
const IN_PAGE = `
  for (const type of ['keydown', 'pointerdown'])
    addEventListener(type, (event) => (globalThis.pressedAt = event.timeStamp), { capture: true });
  globalThis.painted = (isShown) =>
    new Promise((done) => {
      const look = () => {
        if (!isShown()) return;
        observer.disconnect();
        requestAnimationFrame(() => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => done(performance.now() - globalThis.pressedAt);
          port2.postMessage(null);
        });
      };
      const observer = new MutationObserver(look);
      observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    });
  globalThis.rowTexts = () =>
    [...document.querySelectorAll('ul[aria-label=Conversations] [data-index]')]
      .toSorted((a, b) => a.dataset.index - b.dataset.index).map(({ textContent }) => textContent);
  globalThis.showRow = (index) =>
    (document.querySelector('section[aria-label=Conversations] div:has(> ul[aria-label=Conversations])').scrollTop = index * 68);
  globalThis.searched = () => new URLSearchParams(location.search).get('search');
  globalThis.inLog = (text) => document.querySelector('[role=log]')?.textContent.includes(text);
  globalThis.heading = () => document.querySelector('section[aria-label=Conversation] h2')?.textContent;`;

/** @param isShown an expression, false before and true once the result is shown. */
async function timeUntil(page: Page, isShown: string, act: () => Promise<unknown>): Promise<number> {
  const took = page.evaluate(`painted(() => ${isShown})`) as Promise<number>;
  await act();
  return took;
}

/** What is searched for, and what is shown once it is found: each row has a name or a text, or one of them has. */
function searchOf(n: number): { words: string; shows: string } {
  // The browser keeps what it has found: no name twice in 64 repetitions.
  const contact = contactOf(1000 + Math.floor(n / 4) * 7);
  const has = (quantifier: 'some' | 'every', words: string) => ({
    words,
    shows: `rowTexts().length > 0 && rowTexts().${quantifier}((row) => row.includes(${JSON.stringify(words)}))`,
  });
  switch (n % 4) {
    case 0:
      return has('every', contactOf(20_000 + n * 131).name);
    case 1:
      return has('every', contact.firstName);
    case 2:
      return has('some', `${contact.street} Street`);
    default:
      return { words: `Zebra ${n}`, shows: `document.body.textContent.includes('Nothing found')` };
  }
}

/** @param beforeEach called before each repetition. */
export async function measureInbox(
  page: Page,
  repetitions: number,
  beforeEach: () => Promise<unknown>,
): Promise<Row[]> {
  await page.evaluate(IN_PAGE);
  const rowAt = (index: number): Locator =>
    page.locator(`section[aria-label=Conversations] [data-index="${index}"] button`);
  const opened = (n: number): string =>
    `heading() === ${JSON.stringify(contactOf(n).name)} && inLog(${JSON.stringify(`${contactOf(n).street} Street`)})`;
  const times = { clicked: [], stepped: [], replied: [], searched: [] } as Record<
    keyof typeof WORKS,
    number[]
  >;
  const read = () => page.waitForTimeout(READING_MS);
  for (let n = 0; n <= repetitions; n += 1) {
    await beforeEach();
    // The one before it was not read ahead.
    const index = 3 * n;
    await page.evaluate(`showRow(${index})`);
    await rowAt(index)
      .filter({ hasText: contactOf(index + 1).name })
      .waitFor();
    const clicked = await timeUntil(page, opened(index + 1), () => rowAt(index).click());
    await read();
    const stepped = await timeUntil(page, opened(index + 2), () => page.keyboard.press('j'));
    await read();
    const reply = `Answer ${n}: Friday at ${n % 12} suits us.`;
    await page.keyboard.press('r');
    await page.keyboard.type(reply);
    const shown = `inLog(${JSON.stringify(reply)})`;
    const replied = await timeUntil(page, shown, () => page.keyboard.press('Control+Enter'));
    await read();
    await page.keyboard.press('Escape');
    const { words, shows } = searchOf(n);
    await page.keyboard.press('/');
    const searched = await timeUntil(page, `searched() === ${JSON.stringify(words)} && ${shows}`, () =>
      page.keyboard.type(words, { delay: TYPING_MS }),
    );
    await read();
    await timeUntil(page, 'searched() === null && rowTexts().length > 1', () =>
      page.getByRole('searchbox').fill(''),
    );
    await read();
    // The first repetition loads what is loaded later.
    if (n === 0) continue;
    for (const [work, took] of Object.entries({ clicked, stepped, replied, searched }))
      times[work as keyof typeof WORKS].push(took);
  }
  return Object.entries(WORKS).map(([work, { name, goal }]) => {
    const took = times[work as keyof typeof WORKS];
    const [half, most] = [0.5, 0.95].map((part) => quantile(took, part).toFixed(0));
    console.log(`${name}: median ${half} ms, 95 % ${most} ms, at most ${Math.max(...took).toFixed(0)} ms`);
    const row = { subject: LINEPACE, unit: 'ms, 95 %', more: false };
    return { ...row, work: name, values: [quantile(took, 0.95)], goal };
  });
}
