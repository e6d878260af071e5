import { z } from 'zod';
import { findKnowledgeBase, saveKnowledgeBase } from '#db/queries/drafts/knowledge-base.ts';
import { KnowledgeBase } from '#domain/drafts/knowledge-base.ts';
import { workspaceRoute } from '#api/http/route.ts';

const ResponseBody = KnowledgeBase.extend({ success: z.literal(true) });

export const knowledgeBaseRoutes = [
  workspaceRoute({
    id: 'getKnowledgeBase',
    method: 'GET',
    path: '/api/knowledge-base',
    tag: 'AI drafts',
    summary: 'Get the knowledge base of the AI copilot',
    responses: { 200: ResponseBody },
    async handler({ db }) {
      return { status: 200, body: { success: true, ...(await findKnowledgeBase(db)) } };
    },
  }),

  workspaceRoute({
    id: 'putKnowledgeBase',
    method: 'PUT',
    path: '/api/knowledge-base',
    tag: 'AI drafts',
    summary: 'Replace the knowledge base of the AI copilot, and turn it on or off',
    description:
      'With the mode `off` no new drafts are written; open ones can still be resolved. With `autopilot`, drafts within the limits are sent without a decision.',
    body: KnowledgeBase,
    responses: { 200: ResponseBody },
    audit: {
      action: 'knowledge_base.updated',
      target: 'workspace',
      changes: ['mode', 'debounceSeconds', 'autopilot'],
    },
    async handler({ db, body }) {
      await saveKnowledgeBase(db, body);
      return { status: 200, body: { success: true, ...body } };
    },
  }),
];
