import { useMemo } from 'react';
import type { Effect } from '#console/lib/effects.ts';
import { useUnsent } from '#console/lib/unsent.ts';

/** How a reply is sent, besides its text. */
interface ReplyOptions {
  /** The message that it answers. */
  replyTo?: string | undefined;
  effect?: Effect | undefined;
  /** Whether the parts of its text are messages of their own. */
  bubbles?: boolean | undefined;
}

const NONE: ReplyOptions = {};

/** The options of the reply to a contact, kept with its text. */
export function useReplyOptions(address: string): {
  options: ReplyOptions;
  change(part: ReplyOptions): void;
  /** Called once a reply is sent with these: what was chosen meanwhile stays. */
  takeOut(sent: ReplyOptions): void;
  /** Called once a reply with these is unsent again: what was chosen meanwhile counts. */
  putBack(sent: ReplyOptions): void;
} {
  const unsent = useUnsent(`options ${address}`);
  const { text } = unsent;
  const options = useMemo(() => optionsIn(text), [text]);
  const keep = (next: ReplyOptions): void => {
    const chosen = Object.entries(next).filter(([, value]) => value !== undefined && value !== false);
    unsent.change(chosen.length === 0 ? null : JSON.stringify(Object.fromEntries(chosen)));
  };
  const now = (): ReplyOptions => optionsIn(unsent.current());
  return {
    options,
    change: (part) => keep({ ...now(), ...part }),
    takeOut(sent) {
      if (JSON.stringify(now()) === JSON.stringify(sent)) keep(NONE);
    },
    putBack: (sent) => keep({ ...sent, ...now() }),
  };
}

function optionsIn(text: string | null): ReplyOptions {
  try {
    return text === null ? NONE : (JSON.parse(text) as ReplyOptions);
  } catch {
    return NONE;
  }
}
