import { z } from 'zod';
import { releaseAllLater } from '#db/commands/sending/person-releases.ts';
import { personRules, setFrequencyCap } from '#db/queries/sending/person-holds.ts';
import { FrequencyCap } from '#domain/sending/person-holds.ts';
import { workspaceRoute } from '#api/http/route.ts';

const ResponseBody = z.object({
  success: z.literal(true),
  frequencyCap: FrequencyCap.nullable().meta({ description: 'null: there is none.' }),
});

const { messages, days } = FrequencyCap.shape;

export const frequencyCapRoutes = [
  workspaceRoute({
    id: 'getFrequencyCap',
    method: 'GET',
    path: '/api/workspace/frequency-cap',
    tag: 'Workspace',
    summary: 'Get how many messages of campaigns a person gets at most',
    responses: { 200: ResponseBody },
    async handler({ db }) {
      const { frequencyCap } = await personRules(db);
      return { status: 200, body: { success: true, frequencyCap } };
    },
  }),

  workspaceRoute({
    id: 'setFrequencyCap',
    method: 'PUT',
    path: '/api/workspace/frequency-cap',
    tag: 'Workspace',
    role: 'admin',
    summary: 'Set how many messages of campaigns a person gets at most, over all campaigns and lines',
    description:
      'A message that exceeds it waits with `holdReason: "frequency_cap"` until it does not. A person is a lead with all its addresses. Messages to a contact who wrote within 24 hours do not wait, and messages that do not belong to campaigns neither wait nor count. What waits already is looked at again.',
    body: z
      .object({
        messages: messages.nullable().meta({ description: 'null: no cap.' }),
        days: days.default(7),
      })
      .meta({ id: 'FrequencyCapInput' }),
    responses: { 200: ResponseBody },
    audit: { action: 'workspace.updated', target: 'workspace', changes: ['messages', 'days'] },
    async handler({ db, body, now }) {
      const frequencyCap = body.messages === null ? null : { messages: body.messages, days: body.days };
      await setFrequencyCap(db, frequencyCap);
      await releaseAllLater(db, now);
      return { status: 200, body: { success: true, frequencyCap } };
    },
  }),
];
