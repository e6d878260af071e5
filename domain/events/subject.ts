/** What an event is about, by which webhooks filter; null: nothing of the kind, or unknown. */
export interface EventSubject {
  lineId: string | null;
  campaignId: string | null;
  leadId: string | null;
  /** The contact's phone number or email address. */
  address: string | null;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** Reads it from the body, where events about messages, replies and contacts have it in different places. */
export function subjectOf(event: object): EventSubject {
  const body = event as Record<string, unknown>;
  const data = isObject(body['data']) ? body['data'] : {};
  const parts = [body, body['message'], data['reply'], data, body['lead']].filter(isObject);
  const first = (...names: readonly string[]): string | null => {
    for (const part of parts)
      for (const name of names) if (typeof part[name] === 'string' && part[name] !== '') return part[name];
    return null;
  };
  return {
    lineId: first('lineId', 'fromLineId'),
    campaignId: first('campaignId'),
    leadId: first('leadId'),
    address: first(
      'address',
      'recipientPhone',
      'recipientEmail',
      'conversationRecipient',
      'fromPhone',
      'fromEmail',
      'phone',
      'email',
    ),
  };
}
