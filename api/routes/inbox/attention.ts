import { z } from 'zod';
import { listAttention } from '#db/queries/inbox/attention.ts';
import { AttentionItem } from '#domain/inbox/attention.ts';
import { workspaceRoute } from '#api/http/route.ts';

export const attentionRoutes = [
  workspaceRoute({
    id: 'listAttention',
    method: 'GET',
    path: '/api/attention',
    tag: 'Workspace',
    summary: 'List what waits for a person, the most urgent first',
    responses: { 200: z.object({ success: z.literal(true), items: z.array(AttentionItem) }) },
    async handler({ db, now }) {
      return { status: 200, body: { success: true, items: await listAttention(db, now) } };
    },
  }),
];
