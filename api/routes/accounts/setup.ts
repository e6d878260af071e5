import { z } from 'zod';
import { findSetup } from '#db/queries/accounts/setup.ts';
import { Setup } from '#domain/accounts/setup.ts';
import { workspaceRoute } from '#api/http/route.ts';

export const setupRoutes = [
  workspaceRoute({
    id: 'getSetup',
    method: 'GET',
    path: '/api/workspace/setup',
    tag: 'Workspace',
    summary: 'Get the first steps of the workspace, and which of them are done',
    description: 'A step is done while its result exists. If the result is deleted, the step is open again.',
    responses: { 200: z.object({ success: z.literal(true), setup: Setup }) },
    async handler({ db }) {
      return { status: 200, body: { success: true, setup: await findSetup(db) } };
    },
  }),
];
