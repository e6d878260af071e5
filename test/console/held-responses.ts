import type { Page } from 'playwright-core';

interface HeldResponses {
  /** How many requests have been sent. */
  count(): number;
  /** Lets the responses through, also later ones. */
  release(): void;
}

/** Holds back the responses to requests with a method to a URL. The server gets the requests at once. */
export async function holdResponses(page: Page, method: string, url: string): Promise<HeldResponses> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let count = 0;
  await page.route(url, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    count += 1;
    const response = await route.fetch();
    await released;
    await route.fulfill({ response });
  });
  return { count: () => count, release };
}
