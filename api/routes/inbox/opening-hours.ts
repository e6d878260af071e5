import { z } from 'zod';
import { findOpeningHours, setOpeningHours } from '#db/queries/accounts/workspaces.ts';
import { isOpen, OpeningHours } from '#domain/inbox/opening-hours.ts';
import { workspaceRoute } from '#api/http/route.ts';

const ResponseBody = z.object({
  success: z.literal(true),
  openingHours: OpeningHours,
  timezone: z.string(),
  isOpen: z.boolean().meta({ description: 'Now.' }),
});

const respondWith = (openingHours: OpeningHours, timezone: string, now: Date) => ({
  status: 200 as const,
  body: { success: true as const, openingHours, timezone, isOpen: isOpen(openingHours, timezone, now) },
});

export const openingHoursRoutes = [
  workspaceRoute({
    id: 'getOpeningHours',
    method: 'GET',
    path: '/api/workspace/opening-hours',
    tag: 'Workspace',
    summary: 'Get when somebody of the workspace is there',
    responses: { 200: ResponseBody },
    handler: async ({ db, caller, now }) =>
      respondWith(await findOpeningHours(db), caller.workspace.timezone, now),
  }),

  workspaceRoute({
    id: 'setOpeningHours',
    method: 'PUT',
    path: '/api/workspace/opening-hours',
    tag: 'Workspace',
    role: 'admin',
    summary: 'Set when somebody of the workspace is there; an omitted field gets its default',
    description:
      "In the workspace's time zone. Without hours, it is always open, except on the days of `closedOn`.",
    body: OpeningHours,
    responses: { 200: ResponseBody },
    audit: { action: 'opening_hours.updated', target: 'workspace', changes: ['hours', 'closedOn'] },
    async handler({ db, caller, body, now }) {
      await setOpeningHours(db, body);
      return respondWith(body, caller.workspace.timezone, now);
    },
  }),
];
