import { z } from 'zod';
import type { Channel } from '../base/channel.ts';

/** What a line may be able to do besides sending text. */
export const CAPABILITIES = [
  'reactions',
  'typing',
  'read_receipts',
  'replies',
  'effects',
  'edit',
  'unsend',
  'contact_card',
  'groups',
  'voice_notes',
  'attachments',
] as const;
export const Capability = z.enum(CAPABILITIES).meta({ id: 'Capability' });
export type Capability = z.infer<typeof Capability>;

/** What carriers pass on of iMessage: all of it. */
export const IMESSAGE_CAPABILITIES: readonly Capability[] = [...CAPABILITIES];

/** What a line can do is decided by its carrier, its channel and its settings. */
export interface CapableLine {
  carrier: string;
  channel: Channel;
  /** As stored: its secrets are encrypted. */
  carrierConfig: Record<string, unknown>;
}

export type CapabilitiesOf = (line: CapableLine) => readonly Capability[];
