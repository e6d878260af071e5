/** Between two bubbles: about as long as a person takes. */
export const BUBBLE_GAP = { minMs: 1000, spreadMs: 2000 } as const;

/** Separates the first text of a request from those that follow it. */
export function splitBubbles<Body extends { message?: string | string[] | undefined }>({
  message,
  ...body
}: Body): { input: Omit<Body, 'message'> & { message?: string }; others: string[] } {
  const [first, ...others] = [message ?? []].flat();
  return { input: { ...body, ...(first !== undefined && { message: first }) }, others };
}
