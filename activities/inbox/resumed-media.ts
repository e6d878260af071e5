import type { CarrierMedia } from '#providers/carriers/carrier.ts';

/** Opens a file at a byte, or before it if the carrier cannot. */
export type OpenMedia = (from: number, signal: AbortSignal) => Promise<CarrierMedia>;

interface Limits {
  /** How long to wait for a response, and for the next bytes, in milliseconds. */
  idleMs: number;
  /** Ends everything. */
  canceled: AbortSignal;
}

/** Opens a file within the time limit, which does not apply to reading it. */
export async function openWithin(
  open: OpenMedia,
  from: number,
  { idleMs, canceled }: Limits,
): Promise<CarrierMedia> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`no response for ${idleMs} ms`)), idleMs);
  try {
    return await open(from, AbortSignal.any([canceled, late.signal]));
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads a file to its end over connections that may break: each continues where the last one stopped, as long as each brings
 * something.
 */
export async function* resumedMedia(
  open: OpenMedia,
  first: CarrierMedia,
  { idleMs, canceled }: Limits,
): AsyncGenerator<Uint8Array> {
  let read = 0;
  let media = first;
  for (;;) {
    const before = read;
    let skipped = media.from ?? 0;
    try {
      const chunks = media.body.iterator({ destroyOnReturn: true }) as AsyncIterableIterator<Uint8Array>;
      for (;;) {
        const { done, value } = await withinIdle(chunks.next(), idleMs);
        if (done) return;
        const isKnown = Math.min(value.length, read - skipped);
        skipped += value.length;
        if (isKnown === value.length) continue;
        read += value.length - isKnown;
        yield value.subarray(isKnown);
      }
    } catch (error) {
      media.body.destroy();
      if (read === before || canceled.aborted) throw error;
      media = await openWithin(open, read, { idleMs, canceled });
    }
  }
}

async function withinIdle<T>(next: Promise<T>, ms: number): Promise<T> {
  const { promise: idle, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no data for ${ms} ms`)), ms);
  try {
    return await Promise.race([next, idle]);
  } finally {
    clearTimeout(timer);
    next.catch(() => {});
  }
}
