import { z } from 'zod';

/** When reply alerts are sent. */
const ReplyMode = z.enum(['all', 'positive_only', 'debounce_5min', 'daily_digest']);

const Switch = z.object({ enabled: z.boolean() });

/** A workspace's email settings by topic. */
export const EmailPreferences = z
  .object({
    line_health: Switch.meta({
      description: "Kept for compatibility: each line's own lineDownNotifications decides.",
    }),
    campaign: Switch,
    reply: z.object({ enabled: z.boolean(), mode: ReplyMode }),
    billing: Switch,
    system_error: Switch,
  })
  .meta({ id: 'EmailPreferences' });
export type EmailPreferences = z.infer<typeof EmailPreferences>;

const EMAIL_TYPES = Object.keys(EmailPreferences.shape) as (keyof EmailPreferences)[];

const SwitchPatch = Switch.partial();

/** A partial update. Unknown topics are refused. */
export const EmailPreferencesPatch = z
  .strictObject({
    line_health: SwitchPatch,
    campaign: SwitchPatch,
    reply: z.object({ enabled: z.boolean(), mode: ReplyMode }).partial(),
    billing: SwitchPatch,
    system_error: SwitchPatch,
  })
  .partial()
  .meta({ id: 'EmailPreferencesPatch' });
export type EmailPreferencesPatch = z.infer<typeof EmailPreferencesPatch>;

export const DEFAULT_EMAIL_PREFERENCES: EmailPreferences = {
  line_health: { enabled: true },
  campaign: { enabled: true },
  reply: { enabled: true, mode: 'debounce_5min' },
  billing: { enabled: true },
  system_error: { enabled: true },
};

export function mergeEmailPreferences(
  current: EmailPreferences,
  patch: EmailPreferencesPatch,
): EmailPreferences {
  return {
    line_health: { ...current.line_health, ...patch.line_health },
    campaign: { ...current.campaign, ...patch.campaign },
    reply: { ...current.reply, ...patch.reply },
    billing: { ...current.billing, ...patch.billing },
    system_error: { ...current.system_error, ...patch.system_error },
  } as EmailPreferences;
}

/** The update that turns all emails on or off; the mode of reply alerts does not change. */
export const setAllPreferences = (enabled: boolean): EmailPreferencesPatch =>
  Object.fromEntries(EMAIL_TYPES.map((type) => [type, { enabled }]));
