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

/**
 * Counts requests that the page sends after its first response to another one.
 * @param method of that other one.
 * @param path of the requests, without a query.
 */
export function countRequestsAfter(page: Page, method: string, path: string): () => number {
  let [isAnswered, count] = [false, 0];
  page.on('response', (response) => {
    if (response.request().method() === method) isAnswered = true;
  });
  page.on('request', (request) => {
    if (isAnswered && new URL(request.url()).pathname === path) count += 1;
  });
  return () => count;
}
